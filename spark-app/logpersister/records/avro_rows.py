"""Rows: values that are Avro records, each behind the id of its schema, become typed columns for whole batches at once.

The parser is native (spark-app/native). It resolves each writer's schema against the columns once, by the rules of
Avro's specification; docs/schemas.md says which types become which. `verify.avro` says the same once more.
"""

from typing import Final

import logpersister_native as native
from logpersister.manifest.parser import Framing
from logpersister.manifest.row_schema import SchemaSpec
from logpersister.records.columns import row_columns
from logpersister.records.resolved_rows import ResolvedRows
from logpersister.records.writers import Writers

AVRO_RULES: Final = 1
"""Raise it when a value is accepted or refused otherwise than before, or becomes another row."""


def misfit(schema: SchemaSpec, text: str) -> str | None:
    """Return why what was written by an Avro schema cannot become the columns; None: it can."""
    try:
        native.AvroParser(row_columns(schema), framing="confluent").add_writer(1, text)
    except ValueError as error:
        return str(error)
    return None


class AvroRows(ResolvedRows):
    """Each value is a header and an Avro record."""

    def __init__(self, schema: SchemaSpec, framing: Framing, writers: Writers) -> None:
        self._native = native.AvroParser(row_columns(schema), framing=framing)
        super().__init__(self._native, framing, writers)

    def _add(self, writer_id: int, text: str) -> str:
        try:
            self._native.add_writer(writer_id, text)
        except ValueError as error:
            return f"schema {writer_id} cannot become the columns ({error})"
        return ""
