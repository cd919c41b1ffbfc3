"""Reads from the replica that a leader names as the closest (KIP-392), as long as that works. No I/O.

A leader goes on naming a replica that it can reach and we cannot. So one that fails us is left alone for a while: the
leader is asked without telling it where we are, and then gives the records itself.
"""

from collections.abc import Iterable

from logpersister.pipeline.reader.fetch import RangeState

_FAILURES = 2
"""A replica may fail a range once, as when it lags behind for a moment."""


class Replicas:
    """Remembers which replicas cannot be reached."""

    def __init__(self, expiry: float) -> None:
        self._expiry = expiry
        self._unreachable_until: dict[int, float] = {}

    def named(self, state: RangeState, replica: int, now: float) -> None:
        """The leader names a replica: read from it next, or from the leader when it cannot be reached."""
        until = self._unreachable_until.get(replica, 0)
        if now < until:
            state.leader_until = until
        else:
            state.preferred = (replica, now + self._expiry)

    def unreachable(self, node: int, states: Iterable[RangeState], now: float) -> None:
        """A broker did not answer. Those of the ranges that it was named for go to their leaders."""
        for state in states:
            if state.preferred is not None and state.preferred[0] == node:
                until = self._unreachable_until[node] = now + self._expiry
                state.preferred, state.leader_until = None, until

    def failed(self, state: RangeState, now: float) -> None:
        """A broker answered a range with an error: the leader knows better."""
        if state.preferred is None:
            return
        state.preferred = None
        state.replica_failures += 1
        if state.replica_failures >= _FAILURES:
            state.leader_until = now + self._expiry
