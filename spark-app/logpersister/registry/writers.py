"""Writer schemas, as a registry knows them.

Garbage that begins like a header names any ids. So what the registry does not know is remembered for a while, and it is
asked a bounded number of times in a second.
"""

import threading
import time
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Generic, TypeVar
from uuid import UUID

from logpersister.aside import Threads
from logpersister.backoff import Backoff
from logpersister.registry.answers import Client, Schema
from logpersister.registry.connection import Answer, Connect, Connection
from logpersister.registry.errors import RegistryError
from logpersister.registry.kinds import KINDS, OF_TYPES
from logpersister.schemas.errors import SchemaTextError
from logpersister.values.avro.rows import fingerprint
from logpersister.values.reading.parsers import bounded
from logpersister.values.reading.writers import NO_ID, WriterSchema, shown
from logpersister.values.registry import RegistrySpec

ASKED_AGAIN_SECONDS: Final = 5.0
"""An id that is not there may be so new that not every server of the registry has it. Records that are read were in
Kafka before, and their schemas in the registry: so long after reading has begun a server that follows has them."""

SPARED: Final = Backoff(10.0, 60.0)
"""Pauses after failures in a row, so that other ranges of a task need not wait for the same time-outs, and a registry
that is silent takes little of the time that tasks have for other topics."""

MOST_ABSENT: Final = 100_000
"""Ids that the registry does not know, of which that is remembered."""

FEW: Final = 16
"""Questions that are asked one after the other."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How much a process may ask of a registry, whatever values are."""

    questions: int = 500
    """Questions a second, after a burst of as many."""
    at_once: int = 8
    """Questions on their way."""


GLUE_PACE: Final = Pace(10, 2)
"""Glue's limits are those of all of an account in a region."""


Known = TypeVar("Known")


class _Remembering(ABC, Generic[Known]):
    """What ids mean, which is asked for once each. Thread-safe."""

    def __init__(self, asked: "_Asked", clock: Callable[[], float], sleep: Callable[[float], None]) -> None:
        self._asked, self._clock, self._sleep = asked, clock, sleep
        self._lock = threading.Lock()
        self._known: dict[int, Known] = {}
        self._absent: OrderedDict[int, float] = OrderedDict()
        """When the registry said last that it does not know an id, the oldest first."""
        self._begun = clock()

    def begin(self) -> None:
        """Note that what is read from now on was in Kafka before now."""
        self._begun = self._clock()

    def look_up(self, ids: Iterable[int]) -> Mapping[int, Known]:
        """Return what ids mean. Raises RegistryError."""
        with self._lock:
            return self._look_up(list(ids))

    def _look_up(self, wanted: Sequence[int]) -> Mapping[int, Known]:
        missing = self._ask([one for one in wanted if one not in self._known and not self._is_absent(one)])
        late = self._begun + ASKED_AGAIN_SECONDS - self._clock()
        if late > 0 and (new := [one for one in missing if one not in self._absent]):
            self._sleep(late)
            came = set(new).difference(self._ask(new))
            missing = [one for one in missing if one not in came]
        self._remember(missing)
        return {one: self._known[one] if one in self._known else self._unknown(one) for one in wanted}

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

    def _learn(self, one: int, question: Callable[[Client], Known]) -> bool:
        """Learn what an id means; return False when the registry does not know it. Raises RegistryError."""
        try:
            self._known[one] = self._asked.ask(question)
        except RegistryError as error:
            if error.kind != "unknown":
                raise
            return False
        return True

    @abstractmethod
    def _ask(self, ids: Sequence[int]) -> list[int]:
        """Learn what ids mean; return those that the registry does not know. Raises RegistryError."""

    @abstractmethod
    def _unknown(self, writer_id: int) -> Known:
        """Return what is known of an id that the registry does not know."""


class _Guids(_Remembering[int]):
    """The ids of schemas by their GUIDs."""

    def _ask(self, ids: Sequence[int]) -> list[int]:
        def learn(one: int) -> bool:
            return self._learn(one, lambda client: client.id_of(UUID(int=one)))

        return [one for one in ids if not learn(one)]

    def _unknown(self, writer_id: int) -> int:  # noqa: ARG002 - all are one
        return NO_ID


class RegistryWriters(_Remembering[WriterSchema]):
    """The schemas of a registry by their ids. To be closed."""

    def __init__(
        self,
        connect: Connect,
        pace: Pace = Pace(),
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Connect to nothing yet.

        Args:
            connect: makes a client by the Secret as it is then; called again when the registry refuses the former one.
        """
        super().__init__(_Asked(connect, pace, clock, sleep), clock, sleep)
        self._pace = pace
        self._subjects: dict[str, SubjectWriters] = {}
        self._guids = _Guids(self._asked, clock, sleep)

    @property
    def url(self) -> str:
        return self._asked.url

    def begin(self) -> None:
        super().begin()
        self._guids.begin()
        for subject in self._subjects.values():
            subject.begin()

    def reach(self) -> None:
        """Ask for what each registry knows. Raises RegistryError."""
        self._asked.ask(lambda client: client.reach())

    def schemas(self, ids: Iterable[int]) -> Mapping[int, WriterSchema]:
        """Return the schemas of ids. Raises RegistryError."""
        return self.look_up(ids)

    def ids(self, guids: Iterable[int]) -> Mapping[int, int]:
        """Return the ids of schemas by their GUIDs; `NO_ID` where the registry has none. Raises RegistryError."""
        return self._guids.look_up(guids)

    def knows_guids(self) -> bool:
        """Return whether it has ids of GUIDs, by asking for that of a schema that nobody has. Raises RegistryError."""
        try:
            self._asked.ask(lambda client: client.id_of(UUID(int=0)))
        except RegistryError as error:
            if error.kind not in ("unknown", "unsupported"):
                raise
            return error.kind == "unknown"
        return True

    def of_subject(self, subject: str) -> "SubjectWriters":
        """Return the schemas of a subject by their fingerprints."""
        if subject not in self._subjects:
            self._subjects[subject] = SubjectWriters(subject, self._asked, self._clock, self._sleep)
        return self._subjects[subject]

    def close(self) -> None:
        self._asked.close()

    def _ask(self, ids: Sequence[int]) -> list[int]:
        def learn(one: int) -> bool:
            return self._learn(one, lambda client: _written(client.schema(one), f"schema {self._told(one)}"))

        if len(ids) <= FEW:
            return [one for one in ids if not learn(one)]
        with Threads(self._pace.at_once, "registry") as threads:
            return [one for one, is_known in zip(ids, threads.map(learn, ids), strict=True) if not is_known]

    def _unknown(self, writer_id: int) -> WriterSchema:
        return WriterSchema(None, f"the schema registry has no schema {self._told(writer_id)}", is_unknown=True)

    def _told(self, writer_id: int) -> str:
        return str(writer_id) if writer_id < 1 << 63 else str(UUID(int=writer_id))


class SubjectWriters(_Remembering[WriterSchema]):
    """The Avro schemas of all versions of a subject, by their fingerprints.

    A subject that is not there is an error, not one without versions: a wrong name must not move a topic to quarantine.
    """

    def __init__(
        self, subject: str, asked: "_Asked", clock: Callable[[], float], sleep: Callable[[float], None]
    ) -> None:
        super().__init__(asked, clock, sleep)
        self._subject = subject
        self._versions: set[int] = set()

    def schemas(self, ids: Iterable[int]) -> Mapping[int, WriterSchema]:
        """Return the schemas of fingerprints. Raises RegistryError."""
        return self.look_up(ids)

    def ids(self, guids: Iterable[int]) -> Mapping[int, int]:
        """Return no id: values have fingerprints."""
        return dict.fromkeys(guids, NO_ID)

    def of_subject(self, subject: str) -> "SubjectWriters":
        """Return itself, which knows no other one."""
        if subject != self._subject:
            raise ValueError(f"schemas of subject {self._subject} are not those of {subject}")
        return self

    def _ask(self, ids: Sequence[int]) -> list[int]:
        if ids:
            numbers = self._asked.ask(lambda client: client.versions(self._subject))
            for number in sorted(set(numbers) - self._versions, reverse=True):
                self._learn_version(number)
        return [one for one in ids if one not in self._known]

    def _learn_version(self, number: int) -> None:
        found = self._asked.ask(lambda client: client.version(self._subject, number))
        written = _written(found.schema, f"version {number} of subject {self._subject!r}")
        if written.text is not None and written.kind == "avro":
            with suppress(ValueError):  # what is no schema has written nothing
                self._known.setdefault(fingerprint(written.text), written)
        self._versions.add(number)

    def _unknown(self, writer_id: int) -> WriterSchema:
        told = f"no version of subject {self._subject!r} has the fingerprint {shown(writer_id, 'singleObject')}"
        return WriterSchema(None, told, is_unknown=True)


class _Asked:
    """A connection that is asked at a pace, and spared after a failure. Thread-safe."""

    def __init__(
        self, connect: Connect, pace: Pace, clock: Callable[[], float], sleep: Callable[[float], None]
    ) -> None:
        self._connection = Connection(connect)
        self._clock = clock
        self._gate = _Gate(pace.questions, clock, sleep)
        self._failure: RegistryError | None = None
        self._failures = 0
        self._failed_until = float("-inf")

    @property
    def url(self) -> str:
        return self._connection.url

    def close(self) -> None:
        self._connection.close()

    def ask(self, question: Callable[[Client], Answer]) -> Answer:
        """Return the answer. Raises RegistryError."""
        self._gate.wait()
        if self._failure is not None and self._clock() < self._failed_until:
            raise self._failure
        try:
            answer = self._connection.ask(question)
        except RegistryError as error:
            if error.kind not in ("unknown", "unsupported"):
                self._failures += 1
                self._failure, self._failed_until = error, self._clock() + SPARED.pause(self._failures)
            raise
        self._failures = 0
        return answer


class _Gate:
    """Lets so many questions pass in a second, after as many at once. Thread-safe."""

    def __init__(self, questions: int, clock: Callable[[], float], sleep: Callable[[float], None]) -> None:
        self._questions, self._clock, self._sleep = questions, clock, sleep
        self._lock = threading.Lock()
        self._next = float("-inf")
        """When the next one may pass, less the second of those that pass at once."""

    def wait(self) -> None:
        """Wait until the next one may pass."""
        with self._lock:
            now = self._clock()
            self._next = max(self._next, now - 1) + 1 / self._questions
            pause = self._next - now
        if pause > 0:
            self._sleep(pause)


def _written(schema: Schema, told: str) -> WriterSchema:
    """Return a schema as parsers take it; `told`: how people call it."""
    kind = OF_TYPES.get(schema.type)
    if kind is None:
        return WriterSchema(None, f"{told} is registered as {schema.type[:64]}, which nothing here reads")
    try:
        return WriterSchema(KINDS[kind].self_contained(schema), kind=kind)
    except SchemaTextError as error:
        return WriterSchema(None, f"{told} is not {KINDS[kind].name}: {bounded(str(error))}", kind=kind)


def pace_of(registry: RegistrySpec) -> Pace:
    """Return how much may be asked of a registry."""
    return Pace() if registry.glue is None else GLUE_PACE
