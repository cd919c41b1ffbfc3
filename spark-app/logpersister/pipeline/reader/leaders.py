"""Knows where partitions live, and when to ask again. No I/O."""

from logpersister.backoff import Backoff
from logpersister.pipeline.reader.fetch import RangeState
from logpersister.pipeline.reader.messages import Location, Topology

NOTHING = Topology({}, {}, float("-inf"))


class Leaders:
    """Leaders by the last metadata. Asking is paced: a thousand ranges that lost their leader ask once."""

    def __init__(self, topology: Topology, backoff: Backoff, max_age: float) -> None:
        self.topology = topology
        self.wanted = topology is NOTHING
        """Whether somebody needs newer metadata."""
        self.not_before = 0.0
        """Earliest time of the next question."""
        self._backoff, self._max_age = backoff, max_age
        self._asking = False
        self._attempts = 0

    @property
    def known(self) -> bool:
        return self.topology is not NOTHING

    @property
    def waiting(self) -> bool:
        """Whether a question is put off until `not_before`."""
        return self.wanted and not self._asking

    def of(self, state: RangeState) -> Location:
        return self.topology.of(state.request.range.partition)

    def ask(self, now: float) -> bool:
        """Return whether to ask now; the caller then does, and calls `answered`."""
        wanted = self.wanted or now - self.topology.time > self._max_age
        if self._asking or not wanted or now < self.not_before:
            return False
        self._asking, self.wanted = True, False
        self._attempts += 1
        self.not_before = now + self._backoff.pause(self._attempts)
        return True

    def answered(self, topology: Topology | None) -> None:
        """Note what was learnt; None when nothing was."""
        self._asking = False
        if topology is None:
            self.wanted = True
        else:
            self.topology = topology

    def proved(self) -> None:
        """Records came from where we asked for them: the next question need not wait long."""
        self._attempts = 0
