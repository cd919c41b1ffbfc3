"""Up to when the folders of topics are finished, and the note of it that members read."""

from tests.model.chronicle import Chronicle
from tests.model.decisions import Decisions, Fault


class Finished:
    """What is finished only rises. What somebody reads of it may be what stood there before, or nothing."""

    def __init__(self, chronicle: Chronicle, decisions: Decisions) -> None:
        """Begin with nothing finished."""
        self._chronicle = chronicle
        self._decisions = decisions
        self.noted: dict[str, tuple[int, ...]] = {}
        """By topic, what was noted, in its order."""

    def to(self, topic: str) -> int:
        """Return up to when the folders of a topic are finished; -1: none is."""
        return self.noted.get(topic, (-1,))[-1]

    def finish(self, topic: str, to: int) -> None:
        """Finish the folders of a topic up to an instant."""
        if to > self.to(topic):
            self.noted[topic] = (*self.noted.get(topic, ()), to)
            self._chronicle.tell("duty", "finishes the folders of {} up to {}", topic, to)

    def read(self, topic: str) -> int | None:
        """Return what somebody reads who looks now."""
        noted = self.noted.get(topic, ())
        if not noted or self._decisions.fails(Fault.NOTE_IS_GONE):
            return None
        if len(noted) > 1 and self._decisions.fails(Fault.NOTE_IS_OLD):
            return noted[-2]
        return noted[-1]
