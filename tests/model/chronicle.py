"""What has happened, to be told when something went wrong."""

from collections.abc import Sequence


class Violation(AssertionError):  # noqa: N818 - it is not the program's error
    """The promise was broken; the message is the story that led to it."""


class Chronicle:
    """Events in their order. Formatting waits until somebody wants to read them."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._events: list[tuple[float, str, str, Sequence[object]]] = []
        self.time = 1000.0
        self.violation: Violation | None = None

    def tell(self, who: str, what: str, *details: object) -> None:
        """Note an event; ``{}`` in ``what`` stand for the details."""
        self._events.append((self.time, who, what, details))

    def violated(self, promise: str) -> None:
        """Note that a promise was broken. Kept, because production code may well catch what is raised here."""
        raise self.note(promise)

    def note(self, broken: str) -> Violation:
        """Keep the first thing that went wrong, with the story so far."""
        self.violation = self.violation or Violation(f"{self.story()}\n\nBROKEN: {broken}")
        return self.violation

    def story(self) -> str:
        lines = [f"{time:9.2f}  {who:<11} {what.format(*details)}" for time, who, what, details in self._events]
        return "\n".join([self._title, *lines])
