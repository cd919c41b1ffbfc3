"""``spec.output``: what objects look like inside, and how they are laid out in folders.

A new format is: its name in `Format`, a row in `COMPRESSIONS`, a block of its own settings in `OutputSpec`.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Annotated, Any, Final, Literal, get_args

from pydantic import Field

from logpersister.manifest.constraint import Condition, Model, Size, Text, Unique, Whole
from logpersister.manifest.problems import Finding
from logpersister.manifest.rule import NotInCel, cel_literal, rule
from logpersister.manifest.types import NAME

Format = Literal["text", "sequencefile", "parquet", "jsonl"]
Compression = Literal["none", "gzip", "deflate", "zstd", "snappy"]
KafkaColumn = Literal["topic", "partition", "offset", "timestamp", "key", "headers"]

COMPRESSIONS: Mapping[str, tuple[Compression, ...]] = {
    "text": ("gzip", "zstd", "none"),
    "sequencefile": ("deflate", "none"),
    "parquet": ("zstd", "snappy", "gzip", "none"),
    "jsonl": ("gzip", "zstd", "none"),
}
"""What each format allows; its default first."""


@cache
def _timezones() -> frozenset[str]:
    """Return the names that the pinned tzdata knows: never the machine's own files, which differ between machines."""
    return frozenset(resources.files("tzdata").joinpath("zones").read_text().split())


TimeZone = Annotated[
    str,
    Text(
        r"^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$",
        "is not a time zone",
        "write UTC, or a name of the IANA database such as Europe/Berlin",
        64,
        conditions=(
            Condition(
                NotInCel("there are 600 names, and more with each edition of the database"),
                lambda name: name in _timezones(),
                "is no time zone of the IANA database",
                "write UTC, or a name of the IANA database such as Europe/Berlin",
            ),
        ),
    ),
]
_FOLDER_PREFIXES: Mapping[str, str] = {"day": "dt=", "hour": "hr=", "minute": "min="}
FolderPrefix = Annotated[
    str,
    Text(
        r"^([A-Za-z0-9][A-Za-z0-9_.-]*=?)?$",
        "cannot begin a folder's name",
        "write for example dt= (letters, digits, -, ., _, and = at the end)",
        64,
    ),
]
ValuePrefix = Annotated[
    str,
    Text(
        r"^[A-Za-z0-9][A-Za-z0-9_.-]*=$",
        "cannot begin a folder's name",
        "write for example country= (letters, digits, -, ., _, and = at the end)",
        64,
    ),
]
FieldPath = Annotated[
    str,
    Text(
        rf"^{NAME}(\.{NAME})*$",
        "is not the path of a field",
        "write names of spec.schema with dots between them, for example geo.country",
        253,
    ),
]
_KINDS = ("date", "offset", "field", "lower", "truncate", "bucket")
Delimiter = Annotated[
    str,
    Text(
        r"^[\s\S]+$",
        "is not 1 to 16 bytes long",
        'write for example "\\n" in double quotes',
        16,
        conditions=(
            Condition(
                "bytes(self).size() <= 16",
                lambda text: len(text.encode()) <= 16,
                "is not 1 to 16 bytes long",
                'write for example "\\n" in double quotes',
            ),
        ),
    ),
]


class TextSpec(Model):
    """Settings of format ``text``: one record after another, each value followed by the delimiter."""

    delimiter: Delimiter = "\n"
    """Written after each value. If values contain line breaks, set it for example to `"\\u001e"`."""

    delimiter_in_value: Literal["keep", "escape"] = "keep"
    """Treatment of a delimiter inside a value. `keep` stores the value unchanged, so a reader sees two lines; `escape`
    makes one record one line (docs/formats.md)."""

    tombstones: Literal["skip", "empty"] = "skip"
    """Treatment of a record whose value is null. `skip` leaves it out; `empty` writes an empty line, like an empty
    value."""

    @rule(
        r"$delimiterInValue != 'escape' || !$delimiter.matches('[A-Za-z0-9\\\\]')",
        "has a letter, digit or backslash, which escapes themselves contain",
        "choose another, or set delimiterInValue to keep",
        "delimiter",
    )
    def _escapes_are_unambiguous(self) -> bool:
        return self.delimiter_in_value != "escape" or re.search(r"[A-Za-z0-9\\]", self.delimiter) is None


class SequenceFileSpec(Model):
    """Settings of format ``sequencefile``: Hadoop's container of keys and values."""

    key: Literal["longwritable", "messagepack"] = "longwritable"
    """What the key of an entry contains. `longwritable`: the offset. `messagepack`: a map of offset, timestamp and the
    record's key (docs/formats.md)."""

    compression_type: Literal["record", "block"] = "block"
    """Unit of compression: one value (`record`) or many records (`block`). `block` is much smaller; `record` is for
    readers that need it. Only with a compression."""

    tombstones: Literal["skip", "empty"] = "empty"
    """Treatment of a record whose value is null. `skip` leaves it out; `empty` writes an empty value."""


class ParquetSpec(Model):
    """Settings of format ``parquet``: columns of `spec.schema`, or each value as it is in the column `value`."""

    kafka_columns: Annotated[tuple[KafkaColumn, ...], Field(max_length=6), Unique()] = ()
    """Kafka's own fields that become columns, named `kafka_topic`, `kafka_offset` and so on, after the other columns.
    Files in quarantine always have topic, partition, offset, timestamp and key."""

    row_group_bytes: Annotated[int, Size("64Ki", "1Gi")] = 32 * 2**20
    """Size of a row group in bytes of keys and values, as Kafka has them. Larger: smaller files, faster scans. Smaller:
    less memory, and more large folders of a range in one pass (docs/formats.md)."""

    tombstones: Literal["skip", "null"] = "skip"
    """Treatment of a record whose value is null. `skip` leaves it out; `null` writes a row in which all columns of the
    value are null, so none of these columns is required in the files."""


class JsonLinesSpec(Model):
    """Settings of format ``jsonl``: a JSON object per record, of the fields of `spec.schema` or of the value itself."""

    kafka_columns: Annotated[tuple[KafkaColumn, ...], Field(max_length=6), Unique()] | None = None
    """Kafka's own fields that each line has, named `kafka_topic`, `kafka_offset` and so on, after the value. Default:
    all without `spec.schema`, none with one. Lines in quarantine always have topic, partition, offset, timestamp and
    key."""

    tombstones: Literal["skip", "null"] = "skip"
    """Treatment of a record whose value is null. `skip` leaves it out; `null` writes a line in which the value, or each
    column of it, is null."""

    def columns_of_kafka(self, *, has_schema: bool) -> tuple[KafkaColumn, ...]:
        """Return Kafka's own fields that each line has."""
        if self.kafka_columns is not None:
            return self.kafka_columns
        return () if has_schema else get_args(KafkaColumn)


class DateRule(Model):
    """A folder by the record's timestamp, or by a timestamp of its value."""

    granularity: Literal["day", "hour", "minute"]
    """Time span of one folder. Finer: a query reads less. Coarser: fewer and larger objects. Each level adds what the
    levels above it leave open: `day` gives `dt=2026-11-21`, `day` then `hour` gives `dt=2026-11-21/hr=05`, `hour` alone
    gives `hr=2026-11-21-05`."""

    timezone: TimeZone = "UTC"
    """IANA time zone in which days and hours begin."""

    field: FieldPath | None = None
    """Timestamp of `spec.schema` that counts instead of the record's, for example `at` or `event.at`."""

    prefix: FolderPrefix | None = None
    """Text before the value in the folder's name. Default: `dt=` for a day, `hr=` for an hour, `min=` for a minute."""

    @property
    def folder_prefix(self) -> str:
        """What precedes the value."""
        return _FOLDER_PREFIXES[self.granularity] if self.prefix is None else self.prefix


class OffsetRule(Model):
    """A folder by the record's offset."""

    every: Annotated[int, Whole(1, 2**53)]
    """Number of offsets per folder, which is named after the first: `offset=20000000`."""


class TruncateRule(Model):
    """A folder by the begin of a value."""

    field: FieldPath
    """Text or whole number of `spec.schema`."""

    width: Annotated[int, Whole(1, 2**31 - 1)]
    """Of text the number of characters that are kept. Numbers are rounded down to a multiple of it. As Iceberg's
    `truncate`."""


class BucketRule(Model):
    """A folder by the hash of a value."""

    field: FieldPath
    """Text or whole number of `spec.schema`."""

    count: Annotated[int, Whole(2, 10_000)]
    """Number of buckets: folders `0` to `count` - 1. As Iceberg's `bucket`."""


class PartitionRule(Model):
    """One level of folders; exactly one of date, offset, field, lower, truncate and bucket is set."""

    date: DateRule | None = None
    """A folder by the record's timestamp (`unknown` for records without a usable one)."""

    offset: OffsetRule | None = None
    """A folder by the record's offset."""

    field: FieldPath | None = None
    """A folder by a field of `spec.schema` (text, whole number or bool), for example `country` or `geo.country`."""

    lower: FieldPath | None = None
    """The same with the letters A to Z in lower case; of text only."""

    truncate: TruncateRule | None = None
    """A folder by the begin of a field."""

    bucket: BucketRule | None = None
    """A folder by the hash of a field."""

    prefix: ValuePrefix | None = None
    """Text before the value in the folder's name. Default: the last name of the field, such as `country=`; with
    truncate and bucket `country_trunc=` and `country_bucket=`. Only with a field."""

    @property
    def source(self) -> str | None:
        """The path of the field that it is about, times aside; None: none."""
        of_rule = self.truncate or self.bucket
        return of_rule.field if of_rule else self.field or self.lower

    @property
    def folder_prefix(self) -> str:
        """What precedes the value."""
        if self.date is not None:
            return self.date.folder_prefix
        if self.source is None:
            return "offset="
        kind = "_trunc" if self.truncate else "_bucket" if self.bucket else ""
        return f"{self.source.rsplit('.', 1)[-1]}{kind}=" if self.prefix is None else self.prefix

    @rule(
        f"[{', '.join(f'has(self.{kind})' for kind in _KINDS)}].filter(one, one).size() == 1",
        f"is not exactly one of {', '.join(_KINDS[:-1])} and {_KINDS[-1]}",
        "write one entry of the list for each",
    )
    def _exactly_one(self) -> bool:
        return sum(getattr(self, kind) is not None for kind in _KINDS) == 1

    @rule(
        "!has(self.prefix) || !has(self.date) && !has(self.offset)",
        "is only for levels by a field",
        "remove it; a date has a prefix of its own",
        "prefix",
    )
    def _a_prefix_is_for_fields(self) -> bool:
        return self.prefix is None or (self.date is None and self.offset is None)


_SAME_LEVEL = """
has(one.date) && has(other.date)
&& one.date.granularity == other.date.granularity
&& (has(one.date.timezone) ? one.date.timezone : 'UTC') == (has(other.date.timezone) ? other.date.timezone : 'UTC')
&& (has(one.date.field) ? has(other.date.field) && one.date.field == other.date.field : !has(other.date.field))
&& (has(one.date.prefix) ? has(other.date.prefix) && one.date.prefix == other.date.prefix : !has(other.date.prefix))
|| has(one.offset) && has(other.offset) && one.offset.every == other.offset.every
""".strip().replace("\n", " ")
"""In CEL: whether two levels are equal. (One with neither, or both, is told so by a rule of its own.)"""


def _possible_compressions() -> str:
    return "write one of: " + "; ".join(f"{', '.join(words)} ({name})" for name, words in COMPRESSIONS.items())


def _default_compression(so_far: dict[str, Any]) -> Compression:
    return COMPRESSIONS[so_far["format"]][0] if "format" in so_far else "none"


def _default_text(so_far: dict[str, Any]) -> TextSpec | None:
    return TextSpec() if so_far.get("format") == "text" else None


def _default_parquet(so_far: dict[str, Any]) -> ParquetSpec | None:
    return ParquetSpec() if so_far.get("format") == "parquet" else None


def _default_jsonl(so_far: dict[str, Any]) -> JsonLinesSpec | None:
    return JsonLinesSpec() if so_far.get("format") == "jsonl" else None


def _default_sequencefile(so_far: dict[str, Any]) -> SequenceFileSpec | None:
    return SequenceFileSpec() if so_far.get("format") == "sequencefile" else None


COLUMNAR: Final = ("parquet", "jsonl")
"""Formats whose files have a column for each field of ``spec.schema``."""


class OutputSpec(Model):
    """What is written. A change of anything here that readers would notice is a new ``generation``."""

    format: Format = "text"
    """File format. `text`: one value per line, for every tool. `sequencefile`: Hadoop's format with offsets, optionally
    keys and timestamps, and any bytes. `parquet`: columns; typed ones with `spec.schema`. `jsonl`: a JSON object per
    line, with everything that a record has, or with the fields of `spec.schema`."""

    compression: Compression = Field(default_factory=_default_compression)
    """Compression. For `text`: `gzip` (default; every tool reads it), `zstd` (smaller), `none`. For `sequencefile`:
    `deflate` (default), `none`. For `parquet`: `zstd` (default), `snappy`, `gzip`, `none`. For `jsonl`: as for
    `text`."""

    text: TextSpec | None = Field(default_factory=_default_text)
    """Settings of format `text`; only with it."""

    sequencefile: SequenceFileSpec | None = Field(default_factory=_default_sequencefile)
    """Settings of format `sequencefile`; only with it."""

    parquet: ParquetSpec | None = Field(default_factory=_default_parquet)
    """Settings of format `parquet`; only with it."""

    jsonl: JsonLinesSpec | None = Field(default_factory=_default_jsonl)
    """Settings of format `jsonl`; only with it."""

    partition_by: Annotated[tuple[PartitionRule, ...], Field(max_length=4)] = ()
    """Levels of folders below the topic, outermost first; `[]` for none. A range of offsets becomes one object per
    folder, so fine folders make small objects if timestamps are mixed."""

    @property
    def partitions_by_fields(self) -> bool:
        """Whether folders depend on the rows of values."""
        return any(rule.source or (rule.date and rule.date.field) for rule in self.partition_by)

    @property
    def folder_columns(self) -> frozenset[str]:
        """Names of the columns that readers make of folders such as ``dt=2026-11-21``."""
        prefixes = (rule.folder_prefix for rule in self.partition_by)
        return frozenset(prefix.removesuffix("=") for prefix in prefixes if prefix.endswith("="))

    @rule(
        f"!has(self.compression) || self.compression in {cel_literal(COMPRESSIONS)}[$format]",
        "is not possible in format {format}",
        _possible_compressions(),
        "compression",
    )
    def _the_format_has_the_compression(self) -> Sequence[Finding]:
        possible = COMPRESSIONS[self.format]
        if self.compression in possible:
            return ()
        expectation = f"is not possible in format {self.format}"
        return [Finding(expectation, f"write one of: {', '.join(possible)}", ("compression",), f'"{self.compression}"')]

    @rule(
        "!has(self.text) || $format == 'text'",
        "contradicts format {format}",
        "remove it, or set format to text",
        "text",
    )
    def _settings_of_text_are_for_text(self) -> bool:
        return self.text is None or self.format == "text"

    @rule(
        "!has(self.sequencefile) || $format == 'sequencefile'",
        "contradicts format {format}",
        "remove it, or set format to sequencefile",
        "sequencefile",
    )
    def _settings_of_sequencefile_are_for_sequencefile(self) -> bool:
        return self.sequencefile is None or self.format == "sequencefile"

    @rule(
        "!has(self.parquet) || $format == 'parquet'",
        "contradicts format {format}",
        "remove it, or set format to parquet",
        "parquet",
    )
    def _settings_of_parquet_are_for_parquet(self) -> bool:
        return self.parquet is None or self.format == "parquet"

    @rule(
        "!has(self.jsonl) || $format == 'jsonl'",
        "contradicts format {format}",
        "remove it, or set format to jsonl",
        "jsonl",
    )
    def _settings_of_jsonl_are_for_jsonl(self) -> bool:
        return self.jsonl is None or self.format == "jsonl"

    @rule(
        "!has(self.compression) || self.compression != 'none' || $sequencefile.compressionType == 'block'",
        "contradicts compression none",
        "remove it, or choose a compression",
        "sequencefile",
        "compressionType",
    )
    def _what_is_not_compressed_has_no_type_of_it(self) -> bool:
        return self.sequencefile is None or self.compression != "none" or self.sequencefile.compression_type == "block"

    @rule(
        "!has(self.partitionBy) || self.partitionBy.all(one, !has(one.date) && !has(one.offset)"
        f" || self.partitionBy.exists_one(other, {_SAME_LEVEL}))",
        "has the same level twice",
        "remove the repetition",
        "partitionBy",
    )
    def _levels_differ(self) -> bool:
        others = [level for level in self.partition_by if level.source is None]
        return len(set(others)) == len(others)

    @rule(
        NotInCel("a field's folder is named by its default, which rules of the API server would have to work out"),
        "has two levels with folders of one name",
        "give one of them a prefix of its own",
        "partitionBy",
    )
    def _folders_of_fields_differ(self) -> bool:
        of_fields = [level.folder_prefix.lower() for level in self.partition_by if level.source is not None]
        others = {level.folder_prefix.lower() for level in self.partition_by if level.source is None}
        return len(set(of_fields)) == len(of_fields) and others.isdisjoint(of_fields)
