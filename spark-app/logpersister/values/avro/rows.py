"""Rows: values that are Avro records become typed columns for whole batches at once.

The parser is native (spark-app/native). It resolves each writer's schema against the columns once, by the rules of
Avro's specification; docs/schemas.md says which types become which.
"""

import json
from collections.abc import Collection
from functools import lru_cache
from typing import Any

import structlog

import logpersister_native as native
from logpersister.values.faults import REFUSED, FaultsSpec
from logpersister.values.parser import Framing
from logpersister.values.reading.columns import row_columns
from logpersister.values.reading.resolved_rows import GIVEN, ResolvedRows
from logpersister.values.reading.writers import Writers
from logpersister.values.row_schema import RowSchema


def misfit(schema: RowSchema, text: str) -> str | None:
    """Return why what was written by an Avro schema cannot become the columns; None: it can."""
    try:
        native.AvroParser(row_columns(schema), framing="plain").add_writer(GIVEN, text)
    except ValueError as error:
        return str(error)
    return None


def fingerprint(text: str) -> int:
    """Return the CRC-64-AVRO of an Avro schema, which values with framing ``singleObject`` have. Raises ValueError."""
    return native.avro_fingerprint(text)


class AvroRows(ResolvedRows):
    """Each value is a header, if any, and an Avro record."""

    kind = "avro"

    def __init__(
        self, schema: RowSchema, framing: Framing, writers: Writers | None, faults: FaultsSpec = REFUSED
    ) -> None:
        """Learn no schema yet, but those of the manifest.

        Args:
            schema: the columns; and with framings without ids, schemas of writers.
            framing: what stands before records.
            writers: by which other schemas they were written; None: by no other.
            faults: what becomes of values that do not fit.
        """
        self._native = native.AvroParser(row_columns(schema), framing=framing, faults=faults.words)
        self._read = frozenset(name for one in schema.columns for name in (one.name, *one.aliases)) | {*schema.drop}
        super().__init__(self._native, framing, writers)
        for text in schema.written_by(framing):
            self.learn(GIVEN if framing == "plain" else fingerprint(text), text)

    def _add(self, writer_id: int, text: str) -> str:
        try:
            self._native.add_writer(writer_id, text)
        except ValueError as error:
            return f"{self._told(writer_id)} cannot become the columns ({error})"
        tell(self._told(writer_id), unread_fields(text, self._read))
        return ""


log = structlog.get_logger(__name__)
_MOST_NAMED = 20


def unread_fields(text: str, read: Collection[str]) -> tuple[str, ...]:
    """Return the fields of the record of an Avro schema that are none of those that are read."""
    found: Any = json.loads(text)
    fields = found.get("fields", ()) if isinstance(found, dict) else ()
    return tuple(str(one["name"]) for one in fields if one["name"] not in read)


@lru_cache(maxsize=4096)
def tell(schema: str, fields: tuple[str, ...]) -> None:
    """Say which fields of a schema have no column; once in a process."""
    if fields:
        log.info("schema.fields.unread", schema=schema, fields=list(fields[:_MOST_NAMED]), count=len(fields))
