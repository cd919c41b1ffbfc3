"""Measures while it happens: how far the groups have come, and who says that only a restart helps."""

from collections.abc import Sequence
from dataclasses import dataclass

from kafka.admin import KafkaAdminClient
from kafka.errors import KafkaError

from tests.chaos.chronicle import Chronicle
from tests.chaos.crew import Crew, is_unhealthy
from tests.chaos.looking import Looking
from tests.chaos.outputs import Output
from tests.chaos.witnesses import progress
from tests.stack.clients import admin_client

_ASK_MS = 3_000


@dataclass
class Pace:
    """How a group keeps up."""

    committed: int = 0
    moved_at: float = 0.0
    largest_lag: int = 0
    longest_standstill: float = 0.0
    """Seconds without a commit of stored records, while there was something to store."""
    lag: int = 0

    def note(self, seconds: float, committed: int, end: int) -> None:
        lag = end - committed
        if self.lag:
            self.longest_standstill = max(self.longest_standstill, seconds - self.moved_at)
        if committed != self.committed or self.lag == 0:
            self.committed, self.moved_at = committed, seconds
        self.lag = lag
        self.largest_lag = max(self.largest_lag, lag)


class Watch(Looking):
    """Looks at members and groups; nothing that it cannot ask stops it."""

    def __init__(self, crew: Crew, chronicle: Chronicle, bootstrap: str, outputs: Sequence[Output]) -> None:
        super().__init__()
        self.paces = {output.name: Pace() for output in outputs}
        self._crew = crew
        self._chronicle = chronicle
        self._bootstrap = bootstrap
        self._topics = {output.name: [topic.name for topic in output.topics] for output in outputs}
        self._admin: KafkaAdminClient | None = None

    def look(self) -> None:
        for place in list(self._crew.places):
            process = place.process
            if process is not None and place.up and is_unhealthy(process):
                place.unhealthy = True
        try:
            if self._admin is None:
                self._admin = admin_client(self._bootstrap, request_timeout_ms=_ASK_MS, bootstrap_timeout_ms=_ASK_MS)
            for group, pace in self.paces.items():
                stands = progress(self._admin, group, self._topics[group]).values()
                pace.note(self._chronicle.seconds, sum(one.committed for one in stands), sum(one.end for one in stands))
        except (KafkaError, OSError):
            self._close()

    def stop(self) -> None:
        super().stop()
        self._close()

    def _close(self) -> None:
        if self._admin is not None:
            self._admin.close()
            self._admin = None
