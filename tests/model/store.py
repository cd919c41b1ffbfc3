"""The bucket as `storage.store.ObjectStore` shows it to the product: documents, and the names of objects."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, Protocol, TypeVar, cast
from unittest.mock import patch

from logpersister.member import state_store
from logpersister.storage import names, notes
from logpersister.storage.errors import StorageError
from logpersister.storage.names import ObjectName
from logpersister.storage.replayed import ReplayNote, list_replayed
from logpersister.storage.store import ListedObject, ObjectStore
from tests.model.bucket import GROUP, Bucket
from tests.model.decisions import Fault, Place
from tests.model.ledger import ObjectKey
from tests.model.surroundings import Surroundings

T = TypeVar("T")
_THEN = datetime(2026, 11, 28, tzinfo=UTC)
_OUT_OF_QUARANTINE = ".r000000000000"
"""Extension of what a replay has taken out of quarantine."""


class Turn(Protocol):
    """What goes on in the process while it asks; `saw` notes what it is told."""

    def may_stand_still(self, where: Place) -> None: ...

    def saw(self, answer: T) -> T: ...


class StorePort:
    """An object store for one process, which may stand still, or fail, at each of its requests."""

    def __init__(self, turn: Turn, around: Surroundings, prefix: str, *, documents_fail: bool = True) -> None:
        """Ask nothing yet.

        Args:
            documents_fail: whether requests for documents fail and take time. Those of members are part of a larger
                question, which does.
        """
        self.prefix = prefix
        self._turn, self._around, self._documents_fail = turn, around, documents_fail
        self._bucket: Bucket = around.bucket
        self.keys: dict[str, ObjectKey] = {}
        """What was listed, by name."""

    @property
    def store(self) -> ObjectStore:
        return cast("ObjectStore", self)

    def get_json(self, key: str) -> dict[str, Any] | None:
        found = self.get_tagged(key)
        return None if found is None else found[0]

    def get_tagged(self, key: str) -> tuple[dict[str, Any], str] | None:
        self._ask()
        found = self._bucket.documents.get(key)
        self._pause(Place.LISTED)
        return None if found is None else (json.loads(found[0]), str(found[1]))

    def put_json(self, key: str, document: Mapping[str, Any], *, if_absent: bool = False) -> None:
        self._put(lambda: self._bucket.put_document(key, document, if_absent=if_absent))

    def replace_json(self, key: str, document: Mapping[str, Any], tag: str | None) -> bool:
        replaced = []

        def replace() -> None:
            found = self._bucket.documents.get(key)
            if tag == (None if found is None else str(found[1])):
                self._bucket.put_document(key, document)
                replaced.append(key)

        self._put(replace)
        return bool(replaced)

    def list_objects(self, prefix: str) -> Iterator[ListedObject]:
        """List documents."""
        self._ask()
        found = [key for key in sorted(self._bucket.documents) if key.startswith(prefix)]
        self._pause(Place.LISTED)
        yield from (ListedObject(key, 1, _THEN) for key in found)

    def inventory(self, topic: str) -> Iterator[tuple[ObjectName, ListedObject]]:
        """List objects of records."""
        rules = self._around.rules
        found = []
        for key in self._bucket.objects:
            if key.partition.topic == topic and key.prefix == self.prefix:
                if key.is_replay and not rules.replays_tell_of_ranges:
                    continue
                extension = f"{_OUT_OF_QUARANTINE * key.is_replay}.{key.clock}"
                name = ObjectName(topic, key.partition.partition, key.generation, key.start, key.path, extension)
                self.keys[str(key)] = key
                found.append((name, ListedObject(str(key), 1, _THEN)))
        found.sort(key=lambda one: one[0])
        self._turn.saw(tuple(listed.key for _, listed in found))
        self._turn.may_stand_still(Place.LISTED)
        yield from found

    def facts(self, key: str) -> Any:
        found = self._bucket.objects.get(self.keys[key])
        return None if found is None else SimpleNamespace(topic_id=found.topic_id)

    def delete_all(self, keys: Sequence[str]) -> None:
        for key in keys:
            self._put(lambda key=key: self._bucket.delete(self.keys[key]))

    def _ask(self) -> None:
        if self._documents_fail and self._around.decisions.fails(Fault.BUCKET_SILENT):
            raise StorageError("unreachable", "the bucket does not answer")

    def _put(self, effect: Any) -> None:
        self._pause(Place.NOTING)
        self._bucket.maybe_fail(Fault.PUT_LOST)
        effect()
        self._pause(Place.NOTING)
        self._bucket.maybe_fail(Fault.PUT_ANSWER_LOST)

    def _pause(self, where: Place) -> None:
        if self._documents_fail:
            self._turn.may_stand_still(where)


class AtOnce:
    """A process to which nothing happens."""

    def may_stand_still(self, where: Place) -> None:
        """Go on."""

    def saw(self, answer: Any) -> Any:
        return answer


def replays_of(around: Surroundings, prefix: str, topic: str) -> list[ReplayNote]:
    """Return the replays of a topic that are noted."""
    if not around.bucket.documents:
        return []
    return list(list_replayed(StorePort(AtOnce(), around, prefix, documents_fail=False).store, GROUP, topic))


def document_of(bucket: Bucket, prefix: str, topic: str) -> Mapping[str, Any] | None:
    """Return the document that says what counts of a topic, as it stands in the bucket."""
    found = bucket.documents.get(names.current_key(prefix, GROUP, topic))
    return None if found is None else cast("Mapping[str, Any]", json.loads(found[0]))


def in_one_thread() -> ExitStack:
    """Have the product ask one thing after the other: who stands still here is a coroutine of one thread."""
    stack = ExitStack()
    for module in (notes, state_store):
        stack.enter_context(patch.object(module, "ask_each", map))
    return stack
