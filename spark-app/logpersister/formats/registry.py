"""Makes a format from ``spec.output`` and ``spec.value``.

A new format is a folder of its own, with settings, `write` and `read`, and a case in `_format`.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import pyarrow as pa

from logpersister.formats.archive import write as archive
from logpersister.formats.archive.settings import ArchiveSpec
from logpersister.formats.archive.write import ArchiveFormat
from logpersister.formats.avro import write as avro
from logpersister.formats.avro.settings import AvroFileSpec
from logpersister.formats.avro.write import AvroFormat
from logpersister.formats.base import Format
from logpersister.formats.jsonl import write as jsonl
from logpersister.formats.jsonl.settings import JsonLinesSpec
from logpersister.formats.jsonl.write import JsonLinesFormat
from logpersister.formats.kafka import write as kafka
from logpersister.formats.kafka.settings import KafkaSegmentSpec
from logpersister.formats.kafka.write import KafkaFormat
from logpersister.formats.orc import write as orc
from logpersister.formats.orc.settings import OrcSpec
from logpersister.formats.orc.write import OrcFormat
from logpersister.formats.parquet import write as parquet
from logpersister.formats.parquet.settings import ParquetSpec
from logpersister.formats.parquet.write import ParquetFormat
from logpersister.formats.sequencefile import write as sequencefile
from logpersister.formats.sequencefile.settings import SequenceFileSpec
from logpersister.formats.sequencefile.write import SequenceFileFormat
from logpersister.formats.text import write as text
from logpersister.formats.text.settings import TextSpec
from logpersister.formats.text.write import TextFormat
from logpersister.manifest.blocks.output import OutputSpec
from logpersister.values.parser import Parsing
from logpersister.values.reading.columns import row_columns, without_notation
from logpersister.values.row_schema import AS_THEY_ARE, RowSchema

_ANY_BYTES: Final = Parsing()


def make_format(
    output: OutputSpec,
    parser: Parsing = _ANY_BYTES,
    schema: RowSchema = AS_THEY_ARE,
    field_ids: Mapping[str, int] | None = None,
) -> Format:
    """Return the configured format. The manifest has been validated: what it allows exists here (a test holds that).

    Args:
        output: what objects are like.
        parser: how values are read.
        schema: of rows.
        field_ids: by which a table knows the columns, with format ``parquet``.
    """
    configured = _format(output, parser, schema)
    if field_ids is not None and isinstance(configured, ParquetFormat):
        return replace(configured, field_ids=field_ids)
    return configured


def _format(  # noqa: PLR0911  (one for each format)
    output: OutputSpec, parser: Parsing, schema: RowSchema
) -> Format:
    match output.settings:
        case TextSpec() as settings:
            return TextFormat(settings)
        case SequenceFileSpec() as settings:
            return SequenceFileFormat(settings)
        case KafkaSegmentSpec():
            return KafkaFormat()
        case ArchiveSpec() as settings:
            return ArchiveFormat(settings)
        case ParquetSpec() as settings:
            return ParquetFormat(settings, _bare_rows(schema))
        case OrcSpec() as settings:
            return OrcFormat(settings, _bare_rows(schema))
        case AvroFileSpec() as settings:
            return AvroFormat(settings, _rows(schema))
        case JsonLinesSpec() as settings:
            return JsonLinesFormat(settings, _rows(schema), values_are_json=parser.type == "json")


def _rows(schema: RowSchema) -> pa.Schema | None:
    return row_columns(schema) if schema.has_columns else None


def _bare_rows(schema: RowSchema) -> pa.Schema | None:
    """Return the columns of rows without how other formats write them as text."""
    return without_notation(row_columns(schema)) if schema.has_columns else None


RULES: Final[Mapping[str, int]] = {
    "text": text.RULES,
    "sequencefile": sequencefile.RULES,
    "parquet": parquet.RULES,
    "jsonl": jsonl.RULES,
    "avro": avro.RULES,
    "orc": orc.RULES,
    "kafka": kafka.RULES,
    "archive": archive.RULES,
}
"""Version of each format's output; part of a revision's rules."""
