"""A value that is no row, or that no object should have, as judges say it."""


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


class LeftOutError(Exception):
    """A record that conditions leave out."""
