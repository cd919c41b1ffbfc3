"""Notes of a group: JSON documents that are written from dataclasses, and read back into them. Pure.

Fields have their names in camelCase. What is as it is by default is left out, so a field can come with a default and
earlier notes remain readable. A range stands in its note as topic, partition, start and end.
"""

from types import GenericAlias
from typing import Any, TypeVar

from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.alias_generators import to_camel

from logpersister.storage.errors import StorageError

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


def parse_note(type_: type[Note], key: str, document: Any, what: str) -> Note:
    """Return the note that a document is. Raises StorageError: object `key` is not `what` it should be."""
    try:
        (found,) = _adapter(type_).validate_python((_with_range(document),))
    except ValidationError as error:
        first = error.errors()[0]
        said = f"{'.'.join(map(str, first['loc'][1:]))}: {first['msg']}"
        raise StorageError("damaged", f"object {key!r} is not {what} ({said}); see who changed it") from None
    note: Note = found
    return note


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
