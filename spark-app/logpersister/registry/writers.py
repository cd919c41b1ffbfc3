"""By which schemas values were written, as a registry knows it.

Garbage that begins like a header names any ids. So what the registry does not know is remembered for a while, and it is
asked a bounded number of times in a second.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from logpersister.manifest import LogPersister
from logpersister.manifest.parser import Parser
from logpersister.manifest.secrets import Secrets
from logpersister.records.parsers import bounded
from logpersister.records.writers import WriterSchema
from logpersister.registry.client import RegistryClient
from logpersister.registry.connection import Connect, Connection, connector
from logpersister.registry.errors import RegistryError
from logpersister.registry.kinds import KINDS, SchemaTextError, kind_of

ASKED_AGAIN_SECONDS: Final = 5.0
"""An id that is not there may be so new that not every server of the registry has it. Records that are read were in
Kafka before, and their schemas in the registry: so long after reading has begun a server that follows has them."""

SPARED_SECONDS: Final = 10.0
"""After a failure nothing is asked for so long: the other ranges of a task need not wait for the same time-outs."""

MOST_ABSENT: Final = 100_000
"""Ids that the registry does not know, of which that is remembered."""

MOST_QUESTIONS: Final = 500
"""In a second, beyond so many at once: what a process may ask of a registry, whatever values are."""
AT_ONCE: Final = 8
"""Questions on their way."""
FEW: Final = 16
"""Questions that are asked one after the other."""


class RegistryWriters:
    """The schemas of a registry, asked for once each. One thread may use it. To be closed."""

    def __init__(
        self,
        connect: Connect,
        parser: Parser = "avro",
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Connect to nothing yet.

        Args:
            connect: makes a client by the Secret as it is then; called again when the registry refuses the former one.
            parser: of the values, which says of which kind schemas are.
            clock: monotonic seconds.
            sleep: waits so many seconds.
        """
        self._connection = Connection(connect)
        self._kind = KINDS[parser]
        self._sleep = sleep
        self._clock = clock
        self._known: dict[int, WriterSchema] = {}
        self._absent: OrderedDict[int, float] = OrderedDict()
        """When the registry said last that it does not know an id, the oldest first."""
        self._begun = clock()
        self._pace = _Pace(clock, sleep)
        self._failure: RegistryError | None = None
        self._failed_until = float("-inf")

    def begin(self) -> None:
        """Note that what is read from now on was in Kafka before now."""
        self._begun = self._clock()

    def schemas(self, ids: Iterable[int]) -> Mapping[int, WriterSchema]:
        """Return the schemas of ids. Raises RegistryError."""
        wanted = list(ids)
        missing = self._ask([one for one in wanted if one not in self._known and not self._is_absent(one)])
        late = self._begun + ASKED_AGAIN_SECONDS - self._clock()
        if late > 0 and (new := [one for one in missing if one not in self._absent]):
            self._sleep(late)
            came = set(new).difference(self._ask(new))
            missing = [one for one in missing if one not in came]
        self._remember(missing)
        return {one: self._known.get(one) or _unknown(one) for one in wanted}

    def _is_absent(self, writer_id: int) -> bool:
        """Whether the registry does not know an id, and said so since the records that are read were there."""
        return self._absent.get(writer_id, float("-inf")) >= self._begun

    def _remember(self, absent: Iterable[int]) -> None:
        now = self._clock()
        for one in absent:
            self._absent[one] = now
            self._absent.move_to_end(one)
        while len(self._absent) > MOST_ABSENT:
            self._absent.popitem(last=False)

    @property
    def url(self) -> str:
        return self._connection.url

    def reach(self) -> None:
        """Ask for what each registry knows. Raises RegistryError."""
        self._connection.ask(RegistryClient.types)

    def close(self) -> None:
        self._connection.close()

    def _ask(self, ids: Sequence[int]) -> list[int]:
        """Learn what ids mean; return those that the registry does not know. Raises RegistryError."""
        if len(ids) <= FEW:
            return [one for one in ids if not self._learn(one)]
        with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="registry") as threads:
            return [one for one, is_known in zip(ids, threads.map(self._learn, ids), strict=True) if not is_known]

    def _learn(self, writer_id: int) -> bool:
        """Learn what an id means; return False when the registry does not know it. Raises RegistryError."""
        self._pace.wait()
        if self._failure is not None and self._clock() < self._failed_until:
            raise self._failure
        try:
            schema = self._connection.ask(lambda client: client.schema(writer_id))
            self._known[writer_id] = WriterSchema(self._kind.self_contained(schema))
        except SchemaTextError as error:
            self._known[writer_id] = WriterSchema(
                None, f"schema {writer_id} is not {self._kind.name}: {bounded(str(error))}"
            )
        except RegistryError as error:
            if error.kind != "unknown":
                self._failure, self._failed_until = error, self._clock() + SPARED_SECONDS
                raise
            return False
        return True


class _Pace:
    """Lets `MOST_QUESTIONS` pass in a second, after as many at once. Thread-safe."""

    def __init__(self, clock: Callable[[], float], sleep: Callable[[float], None]) -> None:
        self._clock, self._sleep = clock, sleep
        self._lock = threading.Lock()
        self._next = float("-inf")
        """When the next one may pass, less the second of those that pass at once."""

    def wait(self) -> None:
        """Wait until the next one may pass."""
        with self._lock:
            now = self._clock()
            self._next = max(self._next, now - 1) + 1 / MOST_QUESTIONS
            pause = self._next - now
        if pause > 0:
            self._sleep(pause)


def _unknown(writer_id: int) -> WriterSchema:
    return WriterSchema(None, f"the schema registry has no schema {writer_id}", is_unknown=True)


def open_writers(resource: LogPersister, secrets: Secrets) -> RegistryWriters | None:
    """Return the registry that a manifest names, not connected yet; None: it names none. Raises ManifestError."""
    schema = resource.spec.row_schema
    if schema is None or schema.registry is None:
        return None
    return RegistryWriters(connector(schema.registry, secrets), kind_of(schema, resource.spec.parser.type))
