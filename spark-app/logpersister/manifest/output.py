"""``spec.output``: what objects look like inside, and how they are laid out in folders.

A new format is: its name in `Format`, a row in `COMPRESSIONS`, its own settings in `format_settings` and a block of
them in `OutputSpec`.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from logpersister.manifest.constraint import Model
from logpersister.manifest.format_settings import (
    AvroSpec,
    JsonLinesSpec,
    OrcSpec,
    ParquetSpec,
    SequenceFileSpec,
    TextSpec,
)
from logpersister.manifest.partition_rule import SAME_FOLDER, SAME_LEVEL, PartitionRule, levels_of_same_folders
from logpersister.manifest.problems import Finding
from logpersister.manifest.rule import NotInCel, cel_literal, rule

Format = Literal["text", "sequencefile", "parquet", "jsonl", "avro", "orc"]
Compression = Literal["none", "gzip", "deflate", "zstd", "snappy", "zlib"]

COMPRESSIONS: Mapping[str, tuple[Compression, ...]] = {
    "text": ("gzip", "zstd", "none"),
    "sequencefile": ("deflate", "none"),
    "parquet": ("zstd", "snappy", "gzip", "none"),
    "jsonl": ("gzip", "zstd", "none"),
    "avro": ("deflate", "zstd", "snappy", "none"),
    "orc": ("zstd", "snappy", "zlib", "none"),
}
"""What each format allows; its default first."""


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


def _default_avro(so_far: dict[str, Any]) -> AvroSpec | None:
    return AvroSpec() if so_far.get("format") == "avro" else None


def _default_orc(so_far: dict[str, Any]) -> OrcSpec | None:
    return OrcSpec() if so_far.get("format") == "orc" else None


def _default_sequencefile(so_far: dict[str, Any]) -> SequenceFileSpec | None:
    return SequenceFileSpec() if so_far.get("format") == "sequencefile" else None


COLUMNAR: Final = ("parquet", "jsonl", "avro", "orc")
"""Formats whose files have a column for each field of ``spec.schema``."""


class OutputSpec(Model):
    """What is written. A change of anything here that readers would notice is a new ``generation``."""

    format: Format = "text"
    """File format. `text`: one value per line, for every tool. `sequencefile`: Hadoop's, with offsets and any bytes.
    `parquet`, `orc`: columns; typed ones with `spec.schema`. `jsonl`: a JSON object per line, with everything that a
    record has, or with the fields of `spec.schema`. `avro`: container files of rows."""

    compression: Compression = Field(default_factory=_default_compression)
    """Compression, the default first. `text`, `jsonl`: `gzip`, `zstd`, `none`. `sequencefile`: `deflate`, `none`.
    `parquet`: `zstd`, `snappy`, `gzip`, `none`. `avro`: `deflate`, `zstd`, `snappy`, `none`. `orc`: `zstd`, `snappy`,
    `zlib`, `none`."""

    text: TextSpec | None = Field(default_factory=_default_text)
    """Settings of format `text`; only with it."""

    sequencefile: SequenceFileSpec | None = Field(default_factory=_default_sequencefile)
    """Settings of format `sequencefile`; only with it."""

    parquet: ParquetSpec | None = Field(default_factory=_default_parquet)
    """Settings of format `parquet`; only with it."""

    jsonl: JsonLinesSpec | None = Field(default_factory=_default_jsonl)
    """Settings of format `jsonl`; only with it."""

    avro: AvroSpec | None = Field(default_factory=_default_avro)
    """Settings of format `avro`; only with it."""

    orc: OrcSpec | None = Field(default_factory=_default_orc)
    """Settings of format `orc`; only with it."""

    partition_by: Annotated[tuple[PartitionRule, ...], Field(max_length=4)] = ()
    """Levels of folders below the topic, outermost first; `[]` for none. A range of offsets becomes one object per
    folder."""

    @property
    def settings(self) -> Any:
        """What the format has of its own; None: nothing is set."""
        return getattr(self, self.format)

    @property
    def tombstones(self) -> str:
        """What becomes of records whose value is null: `skip`, `empty` or `null`."""
        return "skip" if self.settings is None else str(self.settings.tombstones)

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
        "!has(self.avro) || $format == 'avro'",
        "contradicts format {format}",
        "remove it, or set format to avro",
        "avro",
    )
    def _settings_of_avro_are_for_avro(self) -> bool:
        return self.avro is None or self.format == "avro"

    @rule(
        "!has(self.orc) || $format == 'orc'",
        "contradicts format {format}",
        "remove it, or set format to orc",
        "orc",
    )
    def _settings_of_orc_are_for_orc(self) -> bool:
        return self.orc is None or self.format == "orc"

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
