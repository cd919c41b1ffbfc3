"""Makes a format from ``spec.output`` and ``spec.value``.

A new format is a module of its own, its options from the manifest, and an entry in `_FACTORIES`.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final, TypedDict

import pyarrow as pa

from logpersister.formats.avro import write as avro
from logpersister.formats.avro.write import AvroFormat
from logpersister.formats.base import Format
from logpersister.formats.columnar import ColumnarOptions
from logpersister.formats.compression import Compression
from logpersister.formats.jsonl import write as jsonl
from logpersister.formats.jsonl.write import JsonLinesFormat, JsonLinesOptions
from logpersister.formats.kafka import write as kafka
from logpersister.formats.kafka.write import KafkaFormat
from logpersister.formats.orc import write as orc
from logpersister.formats.orc.write import OrcFormat, OrcOptions
from logpersister.formats.parquet import write as parquet
from logpersister.formats.parquet.sorted_groups import SortColumn
from logpersister.formats.parquet.write import ParquetFormat, ParquetOptions
from logpersister.formats.sequencefile import write as sequencefile
from logpersister.formats.sequencefile.keys import KeyLayout
from logpersister.formats.sequencefile.layout import CompressionType, SequenceFileCompression, SequenceFileOptions
from logpersister.formats.sequencefile.write import SequenceFileFormat
from logpersister.formats.text import write as text
from logpersister.formats.text.write import DelimiterInValue, TextFormat, TextOptions
from logpersister.formats.tombstones import Tombstones
from logpersister.manifest.blocks.format_settings import OrcSpec, ParquetSpec, SequenceFileSpec, TextSpec
from logpersister.manifest.blocks.output import OutputSpec
from logpersister.values.parser import Parsing
from logpersister.values.reading.columns import row_columns, without_notation
from logpersister.values.row_schema import RowSchema

_ANY_BYTES: Final = Parsing()


def make_format(
    output: OutputSpec,
    parser: Parsing = _ANY_BYTES,
    schema: RowSchema | None = None,
    field_ids: Mapping[str, int] | None = None,
) -> Format:
    """Return the configured format. The manifest has been validated: what it allows exists here (a test holds that).

    Args:
        output: what objects are like.
        parser: how values are read.
        schema: of rows.
        field_ids: by which a table knows the columns, with format ``parquet``.
    """
    configured = _FACTORIES[output.format](output, parser, schema)
    if field_ids is not None and isinstance(configured, ParquetFormat):
        return ParquetFormat(replace(configured.options, field_ids=field_ids))
    return configured


def _text(output: OutputSpec, *_: object) -> Format:
    settings = output.text or TextSpec()
    return TextFormat(
        TextOptions(
            compression=Compression(output.compression),
            delimiter=settings.delimiter.encode(),
            tombstones=Tombstones(output.tombstones),
            delimiter_in_value=DelimiterInValue(settings.delimiter_in_value),
        )
    )


def _sequencefile(output: OutputSpec, *_: object) -> Format:
    settings = output.sequencefile or SequenceFileSpec()
    return SequenceFileFormat(
        SequenceFileOptions(
            compression=SequenceFileCompression(output.compression),
            compression_type=CompressionType(settings.compression_type),
            key=KeyLayout(settings.key),
            tombstones=Tombstones(output.tombstones),
        )
    )


class _Columnar(TypedDict):
    """What all formats with columns get."""

    compression: str
    kafka_columns: tuple[str, ...]
    keeps_tombstones: bool


def _columnar(output: OutputSpec, schema: RowSchema | None) -> _Columnar:
    return {
        "compression": output.compression,
        "kafka_columns": output.columns_of_kafka(has_schema=schema is not None),
        "keeps_tombstones": output.tombstones == "null",
    }


def _rows(schema: RowSchema | None) -> pa.Schema | None:
    return None if schema is None else row_columns(schema)


def _bare_rows(schema: RowSchema | None) -> pa.Schema | None:
    """Return the columns of rows without how other formats write them as text."""
    return None if schema is None else without_notation(row_columns(schema))


def _parquet(output: OutputSpec, _: Parsing, schema: RowSchema | None) -> Format:
    settings = output.parquet or ParquetSpec()
    return ParquetFormat(
        ParquetOptions(
            **_columnar(output, schema),
            schema=_bare_rows(schema),
            row_group_bytes=settings.row_group_bytes,
            page_bytes=settings.page_bytes,
            page_index=settings.page_index,
            without_dictionary=settings.without_dictionary,
            bloom_filters=tuple((one.field, one.distinct) for one in settings.bloom_filters),
            sort_by=tuple(
                SortColumn(one.field, descending=one.order == "descending", nulls_first=one.nulls == "first")
                for one in settings.sort_by
            ),
            own_ids={one.field: one.id for one in settings.field_ids},
        )
    )


def _avro(output: OutputSpec, _: Parsing, schema: RowSchema | None) -> Format:
    return AvroFormat(ColumnarOptions(**_columnar(output, schema), schema=_rows(schema)))


def _orc(output: OutputSpec, _: Parsing, schema: RowSchema | None) -> Format:
    stripe_bytes = (output.orc or OrcSpec()).stripe_bytes
    return OrcFormat(OrcOptions(**_columnar(output, schema), schema=_bare_rows(schema), stripe_bytes=stripe_bytes))


def _jsonl(output: OutputSpec, parser: Parsing, schema: RowSchema | None) -> Format:
    columnar, is_json = _columnar(output, schema), parser.type == "json"
    return JsonLinesFormat(JsonLinesOptions(**columnar, schema=_rows(schema), values_are_json=is_json))


RULES: Final[Mapping[str, int]] = {
    "text": text.RULES,
    "sequencefile": sequencefile.RULES,
    "parquet": parquet.RULES,
    "jsonl": jsonl.RULES,
    "avro": avro.RULES,
    "orc": orc.RULES,
    "kafka": kafka.RULES,
}
"""Version of each format's output; part of a revision's rules."""

_FACTORIES: Final[Mapping[str, Callable[[OutputSpec, Parsing, RowSchema | None], Format]]] = {
    "text": _text,
    "sequencefile": _sequencefile,
    "parquet": _parquet,
    "jsonl": _jsonl,
    "avro": _avro,
    "orc": _orc,
    "kafka": lambda *_: KafkaFormat(),
}
