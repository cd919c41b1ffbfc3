"""Connections of a worker process to brokers and buckets, shared by all revisions that name the same.

Each topic of a group may have a revision of its own (docs/design/topics.md), so connections are kept by what they
connect to, and not by revision.
"""

import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Final

from logpersister.compiled.formats import formats_of
from logpersister.kafka_client import client_config
from logpersister.manifest import LogPersister
from logpersister.manifest.blocks.kafka import KafkaSpec
from logpersister.manifest.blocks.keep import header_conditions
from logpersister.manifest.blocks.storage import StorageSpec
from logpersister.manifest.secrets import Secrets
from logpersister.manifest.spec import Spec
from logpersister.pipeline.reader import KafkaReader, ReaderSettings
from logpersister.records.topic_layout import WritersOf
from logpersister.registry import Registries, RegistryWriters
from logpersister.storage.store import ObjectStore, open_store


class RetryTally:
    """Retries by reason since they were last taken. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()
        self._watched: list[tuple[Mapping[str, int], Counter[str]]] = []

    def count(self, reason: str) -> None:
        with self._lock:
            self._counts[reason] += 1

    def watch(self, totals: Mapping[str, int]) -> None:
        """Count what is added to these totals from now on."""
        with self._lock:
            self._watched.append((totals, Counter(dict(totals))))

    def take(self) -> dict[str, int]:
        """Return the counts and begin anew."""
        with self._lock:
            taken, self._counts = self._counts, Counter()
            for index, (totals, seen) in enumerate(self._watched):
                now = Counter(dict(totals))  # one step, whoever counts meanwhile
                taken += now - seen
                self._watched[index] = (totals, now)
        return dict(taken)


MOST_CONNECTIONS: Final = 4
"""Most connections to different brokers or buckets; over one only while revisions change, or some read headers."""

retries: Final = RetryTally()


@dataclass(frozen=True, slots=True)
class Connections:
    """Reader and bucket of the ranges of a revision."""

    store: ObjectStore
    reader: KafkaReader
    writers_of: WritersOf
    """Returns the registry that a spec names, which knows the schemas of values."""


def connections(resource: LogPersister) -> Connections:
    """Return what a manifest connects to; made when it is asked for first."""
    spec = resource.spec
    return Connections(_store(spec.storage), _reader(spec.kafka, _wants_headers(spec)), _writers_of(resource))


def begin_task() -> None:
    """Note that what is read from now on was in Kafka before now."""
    _registries().begin()


def open_reader(resource: LogPersister, secrets: Secrets, *, headers: bool = False) -> KafkaReader:
    """Return the reader that a manifest asks for, not connected yet; `headers`: even if its formats have none."""
    return _new_reader(resource.spec.kafka, secrets, headers=headers or _wants_headers(resource.spec))


def _wants_headers(spec: Spec) -> bool:
    variants = spec.variants()
    if any(formats_of(one).wants_headers or header_conditions(one.keep) for one in variants):
        return True
    return any(one.may_have_ids_in_headers for one in (*variants, *spec.shapes()))


def _new_reader(kafka: KafkaSpec, secrets: Secrets, *, headers: bool) -> KafkaReader:
    settings = ReaderSettings(read_committed=kafka.reads_committed, headers=headers, client_rack=kafka.client_rack)
    return KafkaReader(client_config(kafka, secrets), settings)


@lru_cache(maxsize=MOST_CONNECTIONS)
def _reader(kafka: KafkaSpec, headers: bool) -> KafkaReader:  # noqa: FBT001 - a key of the cache
    reader = _new_reader(kafka, Secrets(), headers=headers)
    retries.watch(reader.stats.retries)
    return reader


@lru_cache(maxsize=MOST_CONNECTIONS)
def _store(storage: StorageSpec) -> ObjectStore:
    return open_store(storage, Secrets(), on_retry=retries.count)


def _writers_of(resource: LogPersister) -> WritersOf:
    def of(spec: Spec) -> RegistryWriters | None:
        return _registries().of(resource.model_copy(update={"spec": spec}))

    return of


@cache
def _registries() -> Registries:
    return Registries(Secrets())
