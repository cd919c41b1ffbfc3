"""A value that is no row, as judges say it."""


class RefusalError(Exception):
    """A value that is no row."""

    def __init__(self, reason: str, path: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.path = path
        """The field that is concerned; empty for none."""

    def below(self, step: str) -> "RefusalError":
        """Return the same, seen from one level further out."""
        dot = "." if self.path and self.path[0] not in "[{" else ""
        return RefusalError(self.reason, step + dot + self.path)
