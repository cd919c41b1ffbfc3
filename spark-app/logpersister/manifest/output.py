"""``spec.output``: what objects look like inside, and how they are laid out in folders.

A new format is: its name in `Format`, a row in `COMPRESSIONS`, its own settings in `format_settings` and a block of
them in `OutputSpec`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Final, Literal, TypeVar, get_args

from pydantic import Field

from logpersister.manifest.constraint import Model, Unique
from logpersister.manifest.format_settings import OrcSpec, ParquetSpec, SequenceFileSpec, TextSpec
from logpersister.manifest.partition_rule import SAME_FOLDER, SAME_LEVEL, PartitionRule, levels_of_same_folders
from logpersister.manifest.problems import Finding
from logpersister.manifest.rule import NotInCel, cel_literal, rule

Format = Literal["text", "sequencefile", "parquet", "jsonl", "avro", "orc"]
Compression = Literal["none", "gzip", "deflate", "zstd", "snappy", "zlib"]
Tombstones = Literal["skip", "empty", "null"]
KafkaColumn = Literal["topic", "partition", "offset", "timestamp", "key", "headers"]
Settings = TypeVar("Settings", bound=Model)

COMPRESSIONS: Mapping[str, tuple[Compression, ...]] = {
    "text": ("gzip", "zstd", "none"),
    "sequencefile": ("deflate", "none"),
    "parquet": ("zstd", "snappy", "gzip", "none"),
    "jsonl": ("gzip", "zstd", "none"),
    "avro": ("deflate", "zstd", "snappy", "none"),
    "orc": ("zstd", "snappy", "zlib", "none"),
}
"""What each format allows; its default first."""


TOMBSTONES: Mapping[str, tuple[Tombstones, ...]] = {
    "text": ("skip", "empty"),
    "sequencefile": ("empty", "skip"),
    "parquet": ("skip", "null"),
    "jsonl": ("skip", "null"),
    "avro": ("skip", "null"),
    "orc": ("skip", "null"),
}
"""What each format can do with null values; its default first."""


def _possible(of: Mapping[str, Sequence[str]]) -> str:
    return "write one of: " + "; ".join(f"{', '.join(words)} ({name})" for name, words in of.items())


def _default_compression(so_far: dict[str, Any]) -> Compression:
    return COMPRESSIONS[so_far["format"]][0] if "format" in so_far else "none"


def _default_tombstones(so_far: dict[str, Any]) -> Tombstones:
    return TOMBSTONES[so_far["format"]][0] if "format" in so_far else "skip"


def _settings_of(name: Format, settings: type[Settings]) -> Callable[[dict[str, Any]], Settings | None]:
    """Return what gives the defaults of a format's own settings, where the format is this one."""
    return lambda so_far: settings() if so_far.get("format") == name else None


COLUMNAR: Final = ("parquet", "jsonl", "avro", "orc")
"""Formats whose files have a column for each field of ``spec.schema``."""


WITH_SETTINGS: Final = ("text", "sequencefile", "parquet", "orc")
"""Formats with settings of their own."""


class OutputSpec(Model):
    """What is written. A change of anything here that readers would notice is a new ``generation``."""

    format: Format = "text"
    """File format (docs/formats.md). `text`: one value per line. `sequencefile`: Hadoop's, with offsets and any bytes.
    `parquet`, `orc`: columns. `jsonl`: a JSON object per line. `avro`: container files of rows.
    """

    compression: Compression = Field(default_factory=_default_compression)
    """Compression, the default first. `text`, `jsonl`: `gzip`, `zstd`, `none`. `sequencefile`: `deflate`, `none`.
    `parquet`: `zstd`, `snappy`, `gzip`, `none`. `avro`: `deflate`, `zstd`, `snappy`, `none`. `orc`: `zstd`, `snappy`,
    `zlib`, `none`."""

    kafka_columns: Annotated[tuple[KafkaColumn, ...], Field(max_length=6), Unique()] | None = None
    """Kafka's own fields that become columns, named `kafka_topic`, `kafka_offset` and so on, after the other columns;
    not in `text` and `sequencefile`. Default: none, but all in `jsonl` without `spec.schema`. Files in quarantine
    always have topic, partition, offset, timestamp and key."""

    tombstones: Tombstones = Field(default_factory=_default_tombstones)
    """Treatment of a record whose value is null. `skip` leaves it out, the default but with `sequencefile`. `empty`
    writes an empty value (`text`, `sequencefile`). `null` writes a row whose columns of the value are all null, so that
    none of them is required in the files (`parquet`, `orc`, `avro`, `jsonl`)."""

    text: TextSpec | None = Field(default_factory=_settings_of("text", TextSpec))
    """Settings of format `text`; only with it."""

    sequencefile: SequenceFileSpec | None = Field(default_factory=_settings_of("sequencefile", SequenceFileSpec))
    """Settings of format `sequencefile`; only with it."""

    parquet: ParquetSpec | None = Field(default_factory=_settings_of("parquet", ParquetSpec))
    """Settings of format `parquet`; only with it."""

    orc: OrcSpec | None = Field(default_factory=_settings_of("orc", OrcSpec))
    """Settings of format `orc`; only with it."""

    partition_by: Annotated[tuple[PartitionRule, ...], Field(max_length=4)] = ()
    """Levels of folders below the topic, outermost first; `[]` for none. A range of offsets becomes one object per
    folder."""

    def columns_of_kafka(self, *, has_schema: bool) -> tuple[KafkaColumn, ...]:
        """Return Kafka's own fields that become columns."""
        if self.format not in COLUMNAR:
            return ()
        if self.kafka_columns is not None:
            return self.kafka_columns
        return get_args(KafkaColumn) if self.format == "jsonl" and not has_schema else ()

    @property
    def keeps_records(self) -> bool:
        """Whether files of quarantine have all by which a record is stored again: value, key, offset and time."""
        if self.format == "sequencefile":
            return (self.sequencefile or SequenceFileSpec()).key == "messagepack"
        return self.format != "text"

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
        _possible(COMPRESSIONS),
        "compression",
    )
    def _the_format_has_the_compression(self) -> Sequence[Finding]:
        return self._impossible("compression", self.compression, COMPRESSIONS[self.format])

    @rule(
        f"!has(self.tombstones) || self.tombstones in {cel_literal(TOMBSTONES)}[$format]",
        "is not possible in format {format}",
        _possible(TOMBSTONES),
        "tombstones",
    )
    def _the_format_has_the_tombstones(self) -> Sequence[Finding]:
        return self._impossible("tombstones", self.tombstones, TOMBSTONES[self.format])

    def _impossible(self, field: str, found: str, possible: Sequence[str]) -> Sequence[Finding]:
        if found in possible:
            return ()
        told = f"is not possible in format {self.format}"
        return [Finding(told, f"write one of: {', '.join(possible)}", (field,), f'"{found}"')]

    @rule(
        " && ".join(f"(!has(self.{name}) || $format == '{name}')" for name in WITH_SETTINGS),
        "has settings of another format",
        "remove them, or set format to theirs",
    )
    def _settings_are_of_the_format(self) -> Sequence[Finding]:
        others = (name for name in WITH_SETTINGS if name != self.format and getattr(self, name) is not None)
        told = f"contradicts format {self.format}"
        return [Finding(told, f"remove it, or set format to {name}", (name,)) for name in others]

    @rule(
        "!has(self.partitionBy) || self.partitionBy.all(one, !has(one.date) && !has(one.offset)"
        f" || self.partitionBy.exists_one(other, {SAME_LEVEL}))",
        "has the same level twice",
        "remove the repetition",
        "partitionBy",
    )
    def _levels_differ(self) -> Sequence[Finding]:
        levels = self.partition_by
        return [
            Finding(f"is the same level as partitionBy[{levels.index(one)}]", "remove one of them", ("partitionBy", at))
            for at, one in enumerate(levels)
            if one.source is None and levels.index(one) < at
        ]

    @rule(
        NotInCel("a field's folder is named by its default, which rules of the API server would have to work out"),
        SAME_FOLDER,
        "give one of them a prefix of its own",
        "partitionBy",
    )
    def _folders_of_fields_differ(self) -> Sequence[Finding]:
        return list(levels_of_same_folders(self.partition_by))
