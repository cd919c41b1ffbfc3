"""Rows: values that are Avro records, each behind the id of its schema, become typed columns for whole batches at once.

The parser is native (spark-app/native). It resolves each writer's schema against the columns once, by the rules of
Avro's specification; docs/schemas.md says which types become which. `verify.avro` says the same once more.
"""

from collections.abc import Iterable
from typing import Final, cast

import pyarrow as pa

import logpersister_native as native
from logpersister.manifest.parser import Framing
from logpersister.manifest.row_schema import SchemaSpec
from logpersister.records.columns import row_columns
from logpersister.records.parsers import Parsed
from logpersister.records.rows import parsed_of
from logpersister.records.writers import ID_BYTES, MOST_UNKNOWN, Writers

AVRO_RULES: Final = 1
"""Raise it when a value is accepted or refused otherwise than before, or becomes another row."""


def misfit(schema: SchemaSpec, text: str) -> str | None:
    """Return why what was written by an Avro schema cannot become the columns; None: it can."""
    try:
        native.AvroParser(row_columns(schema), framing="confluent").add_writer(1, text)
    except ValueError as error:
        return str(error)
    return None


class AvroRows:
    """Each value is a header and an Avro record. Null values become no row. Thread-safe as far as `writers` is."""

    def __init__(self, schema: SchemaSpec, framing: Framing, writers: Writers) -> None:
        self._writers = writers
        self._framing = framing
        self._native = native.AvroParser(row_columns(schema), framing=framing)
        self._problems: dict[int, str] = {}
        """Why values of these ids are refused, whose schemas are known."""
        self._unknown: dict[int, str] = {}
        """The same of ids that nobody knows."""

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
        first = self._id(values[int(parsed.refused.rows[0])].as_py())
        return parsed.because(self._problems.get(first) or self._unknown.get(first))

    def _learn(self, ids: Iterable[int]) -> None:
        if len(self._unknown) > MOST_UNKNOWN:
            self._unknown.clear()
        for writer_id, schema in self._writers.schemas(ids).items():
            if schema.is_unknown:
                self._unknown[writer_id] = schema.problem
                continue
            problem = schema.problem if schema.text is None else self._add(writer_id, schema.text)
            if problem:
                self._problems[writer_id] = problem
                self._native.refuse_writer(writer_id)

    def _add(self, writer_id: int, text: str) -> str:
        """Read values of an id by a schema; return why that cannot be done, if it cannot."""
        try:
            self._native.add_writer(writer_id, text)
        except ValueError as error:
            return f"schema {writer_id} cannot become the columns ({error})"
        return ""

    def _id(self, value: bytes) -> int:
        return int.from_bytes(value[1 : 1 + ID_BYTES[self._framing]], "big")
