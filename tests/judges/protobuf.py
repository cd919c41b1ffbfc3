"""Rows of protobuf messages made once more, value by value in plain Python; no code of the native parser is in it.

Encoding is that of protobuf's specification, columns are as docs/schemas.md says. Dates, times and timestamps are
integers, as in `verify.rows`.
"""

from dataclasses import dataclass
from functools import cached_property

from logpersister.manifest.faults import REFUSED, FaultsSpec
from logpersister.manifest.parser import Framing
from logpersister.manifest.protobuf.errors import ProtobufError
from logpersister.manifest.protobuf.schema import Schema, read_schema
from logpersister.manifest.row_schema import SchemaSpec
from logpersister.records.writers import NOBODYS, Writers, can_exist
from tests.judges.avro_defaults import MisfitError
from tests.judges.faults import Faults
from tests.judges.growth import Budget
from tests.judges.json_values import Reading
from tests.judges.protobuf_header import selected, split
from tests.judges.protobuf_message import Message
from tests.judges.refusal import RefusalError
from tests.judges.rows import Oracle, Row


@dataclass(frozen=True)
class ProtobufOracle(Oracle):
    """A parser, as `records.parsers` has them, for verification."""

    schema: SchemaSpec
    framing: Framing
    writers: Writers | None
    faults: FaultsSpec = REFUSED

    def row(self, value: bytes) -> Row:
        writer_id, selector, data = split(value, self.framing)
        schema = self._schemas.get(writer_id) or self._schema(writer_id)
        if isinstance(schema, str):
            raise RefusalError(schema)
        name = selected(schema, selector, self.schema.message)
        if (writer_id, name) not in self._messages:
            self._messages[writer_id, name] = self._resolved(schema, name)
        message = self._messages[writer_id, name]
        if message is None:
            raise RefusalError("other_schema")
        return message.read(data, Budget(len(data)))

    @cached_property
    def _schemas(self) -> dict[int, Schema | str]:
        """By id: the schema, or why its values are refused."""
        return {}

    @cached_property
    def _messages(self) -> "dict[tuple[int, str], Message | None]":
        return {}

    def _schema(self, writer_id: int) -> Schema | str:
        text = self.schema.protobuf
        if self.framing != "plain":
            assert self.writers is not None
            found = self.writers.schemas([writer_id])[writer_id] if can_exist(writer_id, self.framing) else NOBODYS
            if found.is_unknown:
                return "unknown_schema"  # of which there may be any number, so they are not kept
            text = found.text_for("protobuf")
        try:
            self._schemas[writer_id] = "other_schema" if text is None else read_schema(text)
        except ProtobufError:
            self._schemas[writer_id] = "other_schema"
        return self._schemas[writer_id]

    def _resolved(self, schema: Schema, name: str) -> "Message | None":
        readings = {one.name: Reading(one.format or "rfc3339") for one in self.schema.columns}
        try:
            return Message(schema, name, self.schema.columns, readings.__getitem__, Faults(self.faults))
        except MisfitError:
            return None
