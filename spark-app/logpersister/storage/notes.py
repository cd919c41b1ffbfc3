"""Notes of a group: JSON documents that are written from dataclasses, and read back into them.

Fields have their names in camelCase. What is as it is by default is left out, so a field can come with a default and
earlier notes remain readable. A range stands in its note as topic, partition, start and end.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from types import GenericAlias
from typing import Any, Final, Generic, TypeVar

from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.alias_generators import to_camel

from logpersister.storage.asking import ask_each
from logpersister.storage.errors import StorageError
from logpersister.storage.store import ObjectStore

MOST_ATTEMPTS: Final = 20
"""Each is one more than somebody else has changed the same note."""

Note = TypeVar("Note")

_adapters: dict[Any, TypeAdapter[tuple[Any]]] = {}


def _adapter(type_: Any) -> TypeAdapter[tuple[Any]]:
    if type_ not in _adapters:
        # Of a tuple, because dataclasses inside of other types take the names from here.
        of_one: Any = GenericAlias(tuple, (type_,))
        _adapters[type_] = TypeAdapter(of_one, config=ConfigDict(alias_generator=to_camel))
    return _adapters[type_]


def written(note: Any) -> dict[str, Any]:
    """Return a note as JSON."""
    (found,) = _adapter(type(note)).dump_python((note,), mode="json", by_alias=True, exclude_defaults=True)
    document: dict[str, Any] = _flat(found)
    return document


@dataclass(frozen=True, slots=True)
class Notes(Generic[Note]):
    """Notes of one kind. Every method raises StorageError, also for a note that is damaged."""

    of: type[Note]
    what: str
    """What such a note is, for messages."""

    def parsed(self, key: str, document: Any) -> Note:
        """Return the note that a document is."""
        try:
            (found,) = _adapter(self.of).validate_python((_with_range(document),))
        except ValidationError as error:
            first = error.errors()[0]
            said = f"{'.'.join(map(str, first['loc'][1:]))}: {first['msg']}"
            raise StorageError("damaged", f"object {key!r} is not {self.what} ({said}); see who changed it") from None
        note: Note = found
        return note

    def get(self, store: ObjectStore, key: str) -> Note | None:
        """Return a note; None: there is none."""
        document = store.get_json(key)
        return None if document is None else self.parsed(key, document)

    def read(self, store: ObjectStore, keys: Iterable[str]) -> Iterator[tuple[str, Note]]:
        """Yield notes with their names, a few of which are read at once; those that are gone are left out."""
        for key, document in ask_each(lambda key: (key, store.get_json(key)), keys):
            if document is not None:
                yield key, self.parsed(key, document)

    def below(self, store: ObjectStore, prefix: str) -> Iterator[Note]:
        """Yield the notes whose names begin with a prefix."""
        for _, note in self.read(store, (listed.key for listed in store.list_objects(prefix))):
            yield note

    def change(self, store: ObjectStore, key: str, change: Callable[[Note], Note], absent: Note) -> Note:
        """Replace a note by what `change` makes of it, or of `absent` where there is none; return that."""
        for _ in range(MOST_ATTEMPTS):
            found = store.get_tagged(key)
            before, tag = (absent, None) if found is None else (self.parsed(key, found[0]), found[1])
            after = change(before)
            if after == before or store.replace_json(key, written(after), tag):
                return after
        raise contended(key)


def contended(key: str) -> StorageError:
    """Return the error about an object that others change all the time."""
    return StorageError(
        "rejected",
        f"object {key!r} could not be replaced: others keep changing it, or the server refuses puts with If-Match that "
        "it should take; try again later",
        retriable=True,
    )


def _flat(document: Any) -> Any:
    if not isinstance(document, dict):
        return document
    range_ = document.get("range")
    if not isinstance(range_, dict) or range_.keys() != {"partition", "start", "end"}:
        return {name: _flat(value) for name, value in document.items()}
    topic, partition = range_["partition"]
    others = {name: _flat(value) for name, value in document.items() if name != "range"}
    return {**others, "topic": topic, **range_, "partition": partition}


def _with_range(document: Any) -> Any:
    if not isinstance(document, dict):
        return document
    nested = {name: _with_range(value) for name, value in document.items()}
    start, end = document.get("start"), document.get("end")
    if isinstance(start, int) and isinstance(end, int):
        place = (document.get("topic"), document.get("partition"))
        nested["range"] = {"partition": place, "start": start, "end": end}
    return nested
