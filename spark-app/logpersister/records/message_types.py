"""Types in messages of protobuf: what an ``Any`` says of itself, or which field of a ``oneof`` is set.

The native module finds them without reading the rest of a message.
"""

import json
from collections.abc import Sequence
from typing import Final, cast

import numpy as np
import pyarrow as pa

import logpersister_native as native
from logpersister.records.event_types import Found, Indices
from logpersister.records.keyed_rows import HEAD
from logpersister.records.type_names import NO_TYPE, REFUSED, UNKNOWN_SCHEMA, Place, TypeNames
from logpersister.schemas.errors import SchemaTextError
from logpersister.values.parser import Parsing
from logpersister.values.protobuf.parts import Plan
from logpersister.values.protobuf.schema import Schema, read_schema
from logpersister.values.protobuf.source import protobuf_of
from logpersister.values.reading.record_headers import with_ids
from logpersister.values.reading.writers import Writers, asked_of
from logpersister.values.row_schema import RowSchema

_NO_TYPE: Final = Place(REFUSED, reason=NO_TYPE)
_NOBODYS: Final = Place(REFUSED, reason=UNKNOWN_SCHEMA)


class MessageTypes:
    """Finds the types of messages, and the parts that parsers get. May raise what `writers` raises."""

    def __init__(self, names: TypeNames, parser: Parsing, schema: RowSchema, writers: Writers | None) -> None:
        """Know no writer's schema yet.

        Args:
            names: gives types their places.
            parser: of whole values; says what stands before messages.
            schema: of whole values, which has their message where no header names one.
            writers: knows what ids mean; None where no header names one.
        """
        self._names = names
        self._framing = parser.framing
        self._writers = writers
        plan = self._plan_of_all(schema)
        self._native = native.MessageParts(framing=self._framing, plan=None if plan is None else json.dumps(plan))

    def find(self, batch: pa.RecordBatch) -> Found:
        values = self._values(batch)
        names, indices, unknown = self._native.types(values)
        nobodys = self._learn(unknown)
        if len(nobodys) < len(unknown):
            names, indices, _ = self._native.types(values)
        found = indices.fill_null(len(names)).to_numpy(zero_copy_only=False).astype(np.int32)
        if nobodys:
            found[self._rows_of(nobodys, values)] = len(names) + 1
        return Found([*map(self._names.place, names), _NO_TYPE, _NOBODYS], found)

    def inside(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return what parsers get of records that have a type."""
        values = self._values(batch)
        columns = {name: batch.column(name) for name in ("offset", "timestamp", "key")}
        return pa.RecordBatch.from_pydict({**columns, "value": self._native.bodies(values), HEAD: values})

    def _values(self, batch: pa.RecordBatch) -> pa.BinaryArray:
        return cast("pa.BinaryArray", with_ids(batch, self._framing, self._writers).column("value"))

    def _plan_of_all(self, schema: RowSchema) -> Plan | None:
        """Return the plan of all values; None: each writer has its own."""
        types = self._names.types
        if types.any is not None and types.any.field is None:
            return types.plan(Schema(), "")
        source = protobuf_of(schema)
        if self._framing != "plain" or source.text is None:
            return None
        read = read_schema(source.text)
        return types.plan(read, read.message(source.message))

    def _learn(self, ids: Sequence[int]) -> set[int]:
        """Learn what ids mean; return those that nobody knows."""
        if not ids:
            return set()
        assert self._writers is not None
        known, nobodys = asked_of(self._writers, ids, self._framing)
        for one, written in known.items():
            try:
                schema = Schema() if written.text is None else read_schema(written.text)
            except SchemaTextError:
                schema = Schema()
            self._native.add_writer(one, schema.resolved(), json.dumps(self._plans(schema)))
        return nobodys

    def _plans(self, schema: Schema) -> dict[str, Plan]:
        """Return how the part is found in each message that has it."""
        found: dict[str, Plan] = {}
        for message in schema.messages:
            try:
                found[message] = self._names.types.plan(schema, message)
            except SchemaTextError:
                continue
        return found

    def _rows_of(self, nobodys: set[int], values: pa.BinaryArray) -> Indices:
        """Return the rows of values whose schema nobody knows."""
        keys, indices = native.schema_keys(values, framing=self._framing, inside="messages")
        places = [place for place, (one, _, _) in enumerate(keys) if one in nobodys]
        rows = indices.fill_null(-1).to_numpy(zero_copy_only=False)
        return np.flatnonzero(np.isin(rows, places)).astype(np.int32)
