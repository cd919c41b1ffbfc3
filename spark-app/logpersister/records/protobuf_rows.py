"""Rows: values that are messages of protobuf become typed columns for whole batches at once.

The parser is native (spark-app/native). It resolves each message of a writer's schema against the columns once;
docs/schemas.md says which types become which. `verify.protobuf` says the same once more.
"""

from collections.abc import Iterable
from typing import Final, cast

import pyarrow as pa

import logpersister_native as native
from logpersister.manifest.parser import Framing
from logpersister.manifest.protobuf.errors import ProtobufError
from logpersister.manifest.protobuf.schema import read_schema
from logpersister.manifest.row_schema import SchemaSpec
from logpersister.records.columns import row_columns
from logpersister.records.parsers import Parsed
from logpersister.records.rows import parsed_of
from logpersister.records.writers import ID_BYTES, MOST_UNKNOWN, Writers

PROTOBUF_RULES: Final = 1
"""Raise it when a value is accepted or refused otherwise than before, or becomes another row."""

GIVEN: Final = 0
"""Id of the schema of values without a header."""


def misfit(schema: SchemaSpec, text: str) -> str | None:
    """Return why what was written by a schema cannot become the columns; None: it can. Raises ProtobufError."""
    parser = native.ProtobufParser(row_columns(schema), framing="plain", message=_message(text, schema.message))
    parser.add_writer(GIVEN, read_schema(text).resolved())
    return parser.problem(b"")


def _message(text: str, name: str | None) -> str:
    """Return the full name of the message that declares the columns. Raises ProtobufError."""
    return read_schema(text).message(name)


class ProtobufRows:
    """Each value is a header, if any, and a message. Null values become no row. Thread-safe as far as `writers` is."""

    def __init__(self, schema: SchemaSpec, framing: Framing, writers: Writers | None) -> None:
        """Learn no schema yet, but the one of values without a header.

        Args:
            schema: the columns; and with framing ``plain`` the schema of the writer.
            framing: what stands before messages.
            writers: by which schemas they were written; None with framing ``plain``.
        """
        self._writers = writers
        self._framing = framing
        self._native = native.ProtobufParser(row_columns(schema), framing=framing, message=schema.message)
        self._problems: dict[int, str] = {}
        """Why values of these ids are refused, whose schemas are known."""
        self._unknown: dict[int, str] = {}
        """The same of ids that nobody knows."""
        if writers is None:
            assert schema.protobuf is not None
            self._native.add_writer(GIVEN, read_schema(schema.protobuf).resolved())

    def parse(self, batch: pa.RecordBatch) -> Parsed:
        """Return what the values become; may raise what `writers` raises."""
        values = cast("pa.BinaryArray", batch.column("value"))
        accepted, codes, fields, unknown = self._native.parse(values)
        if new := [one for one in unknown if one not in self._unknown]:
            self._learn(new)
            accepted, codes, fields, _ = self._native.parse(values)
        parsed = parsed_of(accepted, codes, fields)
        if parsed.refused is None:
            return parsed
        return parsed.because(self._why(values[int(parsed.refused.rows[0])].as_py()))

    def _learn(self, ids: Iterable[int]) -> None:
        assert self._writers is not None
        if len(self._unknown) > MOST_UNKNOWN:
            self._unknown.clear()
        for writer_id, schema in self._writers.schemas(ids).items():
            if schema.is_unknown:
                self._unknown[writer_id] = schema.problem
                continue
            problem = schema.problem
            if schema.text is not None:
                try:
                    self._native.add_writer(writer_id, read_schema(schema.text).resolved())
                    continue
                except ProtobufError as error:
                    problem = f"schema {writer_id} cannot be read: {error}"
            self._problems[writer_id] = problem
            self._native.refuse_writer(writer_id)

    def _why(self, value: bytes) -> str | None:
        """Return what is known of the schema of a value that was refused."""
        if self._framing == "plain":
            return self._native.problem(value)
        writer_id = int.from_bytes(value[1 : 1 + ID_BYTES[self._framing]], "big")
        found = self._problems.get(writer_id) or self._unknown.get(writer_id)
        if found is None and (problem := self._native.problem(value)) is not None:
            return f"schema {writer_id} cannot become the columns ({problem})"
        return found
