"""Types by the names of schemas: each value is behind the id of its schema, of which a registry knows the name."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np
import pyarrow as pa

import logpersister_native as native
from logpersister.records.event_types import Found, Indices
from logpersister.records.type_names import NO_TYPE, REFUSED, UNKNOWN_SCHEMA, Place, TypeNames
from logpersister.schemas.errors import SchemaTextError
from logpersister.values.avro.rows import fingerprint
from logpersister.values.parser import Framing, Parsing
from logpersister.values.protobuf.schema import Schema, read_schema
from logpersister.values.reading.record_headers import with_ids
from logpersister.values.reading.writers import Writers, WriterSchema, asked_of
from logpersister.values.row_schema import RowSchema

_NO_NAME: Final = Place(REFUSED, reason=NO_TYPE)
_NOBODYS: Final = Place(REFUSED, reason=UNKNOWN_SCHEMA)

Key = tuple[int, list[int], str]
"""Id of a schema, and what of it a value is of: places of messages, the place of a branch, or a name."""


class _Names(Protocol):
    """The names in a schema."""

    @property
    def is_union(self) -> bool:
        """Whether values say in front of which branch they are."""

    def name(self, places: Sequence[int], name: str) -> str | None:
        """Return what a value is called; None: it has no name."""


class SchemaNameFinder:
    """Finds the types of values whose headers name a schema. May raise what `writers` raises."""

    def __init__(self, names: TypeNames, parser: Parsing, schema: RowSchema, writers: Writers | None) -> None:
        """Know no schema yet, but those of the manifest.

        Args:
            names: gives types their places.
            parser: says what stands before values, and of which kind schemas are.
            schema: of values, which may have schemas of writers.
            writers: knows what other ids mean; None: nobody does.
        """
        self._names = names
        self._framing = parser.framing
        self._is_avro = parser.type == "avro"
        self._writers = writers
        given = schema.written_by(parser.framing)
        self._known: dict[int, _Names] = {fingerprint(text): _avro_names(WriterSchema(text)) for text in given}

    def find(self, batch: pa.RecordBatch) -> Found:
        values = with_ids(batch, self._framing, self._writers).column("value")
        keys, indices = self._keys(values, "nothing" if self._is_avro else "messages")
        nobodys = self._learn({one for one, _, _ in keys})
        unions = [place for place, key in enumerate(keys) if key[0] in self._known and self._known[key[0]].is_union]
        if unions:
            rows = np.flatnonzero(np.isin(indices, unions))
            branches, of_rows = self._keys(values.take(rows), "branches")
            indices[rows] = np.where(of_rows < 0, -1, of_rows + len(keys))
            keys += branches
        places = [self._place(key, nobodys) for key in keys]
        indices[indices < 0] = len(places)
        return Found([*places, _NO_NAME], indices)

    def _keys(self, values: Any, inside: Any) -> tuple[list[Key], Indices]:
        """Return the keys of values, and for each value which is its own, or -1."""
        keys, indices = native.schema_keys(values, framing=self._framing, inside=inside)
        return keys, indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int32)

    def _learn(self, ids: set[int]) -> set[int]:
        """Learn what ids mean; return those that nobody knows, of which there may be any number."""
        wanted = ids - self._known.keys()
        if self._writers is None:
            return wanted
        known, nobodys = asked_of(self._writers, wanted, self._framing)
        for one, schema in known.items():
            self._known[one] = _avro_names(schema) if self._is_avro else _message_names(schema, self._framing)
        return nobodys

    def _place(self, key: Key, nobodys: set[int]) -> Place:
        schema_id, places, name = key
        if schema_id in nobodys:
            return _NOBODYS
        found = self._known[schema_id].name(places, name)
        return _NO_NAME if found is None else self._names.place(found.encode(errors="surrogatepass"))


@dataclass(frozen=True, slots=True)
class _AvroNames:
    """Names in an Avro schema."""

    branches: Sequence[str | None]
    is_union: bool = False

    def name(self, places: Sequence[int], name: str) -> str | None:  # noqa: ARG002 - of protobuf
        place = places[0] if self.is_union and places else 0
        return self.branches[place] if 0 <= place < len(self.branches) else None


def _avro_names(schema: WriterSchema) -> _AvroNames:
    try:
        root = json.loads(schema.text or "null")
    except (ValueError, RecursionError):
        return _AvroNames([None])
    if isinstance(root, list):
        return _AvroNames([_record_name(one) for one in root], is_union=True)
    return _AvroNames([_record_name(root)])


def _record_name(node: Any) -> str | None:
    if not isinstance(node, dict) or node.get("type") not in ("record", "error"):
        return None
    name, space = node.get("name"), node.get("namespace") or ""
    if not isinstance(name, str) or not isinstance(space, str):
        return None
    return f"{space}.{name}" if space and "." not in name else name


@dataclass(frozen=True, slots=True)
class _MessageNames:
    """Names in a protobuf schema."""

    schema: Schema
    is_sorted: bool
    """Whether headers count all messages of the file, in the order of their names."""
    is_union: bool = False

    def name(self, places: Sequence[int], name: str) -> str | None:
        if self.is_sorted:
            [place] = places
            return self.schema.sorted[place] if place < len(self.schema.sorted) else None
        if places:
            return self.schema.at(places)
        try:
            return self.schema.message(name)
        except SchemaTextError:
            return None


def _message_names(schema: WriterSchema, framing: Framing) -> _MessageNames:
    try:
        found = Schema() if schema.text is None else read_schema(schema.text)
    except SchemaTextError:
        found = Schema()
    return _MessageNames(found, is_sorted=framing == "glue")
