"""Rows: values that are messages of protobuf become typed columns for whole batches at once.

The parser is native (spark-app/native). It resolves each message of a writer's schema against the columns once.
docs/schemas.md says which types become which.
"""

from collections.abc import Mapping

import logpersister_native as native
from logpersister.schemas.errors import SchemaTextError
from logpersister.values.faults import REFUSED, FaultsSpec
from logpersister.values.parser import Framing
from logpersister.values.protobuf.schema import read_schema
from logpersister.values.protobuf.source import protobuf_of
from logpersister.values.reading.columns import row_columns
from logpersister.values.reading.resolved_rows import GIVEN, ResolvedRows
from logpersister.values.reading.schema_ids import id_of
from logpersister.values.reading.writers import Writers
from logpersister.values.row_schema import RowSchema


def misfit(schema: RowSchema, text: str) -> str | None:
    """Return why what was written by a schema cannot become the columns; None: it can. Raises SchemaTextError."""
    parser = native.ProtobufParser(
        row_columns(schema), framing="plain", message=_message(text, protobuf_of(schema).message)
    )
    parser.add_writer(GIVEN, read_schema(text).resolved())
    return parser.problem(b"")


def _message(text: str, name: str | None) -> str:
    return read_schema(text).message(name)


class ProtobufRows(ResolvedRows):
    """Each value is a header, if any, and a message."""

    kind = "protobuf"

    def __init__(
        self, schema: RowSchema, framing: Framing, writers: Writers | None, faults: FaultsSpec = REFUSED
    ) -> None:
        """Learn no schema yet, but the one of values without a header.

        Args:
            schema: the columns; and with framing ``plain`` the schema of the writer.
            framing: what stands before messages.
            writers: by which schemas they were written; None with framing ``plain``.
            faults: what becomes of values that do not fit.
        """
        columns, source = row_columns(schema), protobuf_of(schema)
        self._native = native.ProtobufParser(columns, framing=framing, message=source.message, faults=faults.words)
        super().__init__(self._native, framing, writers)
        if framing == "plain":
            assert source.text is not None
            written = read_schema(source.text)
            self._native.add_writer(GIVEN, written.only(written.message(source.message)).resolved())

    def _add(self, writer_id: int, text: str) -> str:
        try:
            self._native.add_writer(writer_id, read_schema(text).resolved())
        except SchemaTextError as error:
            return f"{self._told(writer_id)} cannot be read: {error}"
        return ""

    def _why(self, value: bytes, nobodys: Mapping[int, str]) -> str | None:
        if self._framing == "plain":
            return self._native.problem(value)
        found, writer_id = super()._why(value, nobodys), id_of(value, self._framing)
        if found is None and writer_id is not None and (problem := self._native.problem(value)) is not None:
            return f"{self._told(writer_id)} cannot become the columns ({problem})"
        return found
