"""``spec.output``: what objects look like inside, and how they are laid out in folders.

A new format is: its folder in `formats`, its block and its name here.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Final, Literal, Self, cast, get_args

from pydantic import Field

from logpersister.formats.archive.settings import ArchiveSpec
from logpersister.formats.avro.settings import AvroFileSpec
from logpersister.formats.columnar_settings import ColumnarSpec, KafkaColumn
from logpersister.formats.jsonl.settings import JsonLinesSpec
from logpersister.formats.kafka.settings import KafkaSegmentSpec
from logpersister.formats.orc.settings import OrcSpec
from logpersister.formats.parquet.settings import ParquetSpec
from logpersister.formats.sequencefile.settings import SequenceFileSpec
from logpersister.formats.text.settings import TextSpec
from logpersister.forms.constraint import Model
from logpersister.forms.problems import Finding
from logpersister.forms.rule import exactly_one, refuses
from logpersister.manifest.blocks.partition_rule import PartitionRule, levels_of_same_folders

Format = Literal["text", "sequencefile", "parquet", "jsonl", "avro", "orc", "kafka", "archive"]
FORMATS: Final[Sequence[Format]] = get_args(Format)
COLUMNAR: Final = ("parquet", "jsonl", "avro", "orc")
"""Formats whose files have a column for each column of values."""

Settings = (
    TextSpec | SequenceFileSpec | ParquetSpec | JsonLinesSpec | AvroFileSpec | OrcSpec | KafkaSegmentSpec | ArchiveSpec
)


def _unless_another_format(before: Mapping[str, Any]) -> TextSpec | None:
    others = (before.get(name) for name in FORMATS if name != "text")
    return None if any(one is not None for one in others) else TextSpec()


class OutputSpec(Model):
    """What is written, in one format, by default `text`. A change that readers would notice is a new ``generation``."""

    sequencefile: SequenceFileSpec | None = None
    """Hadoop's SequenceFile, with offsets and any bytes (docs/formats.md#sequencefile)."""

    parquet: ParquetSpec | None = None
    """Parquet (docs/formats.md#parquet)."""

    jsonl: JsonLinesSpec | None = None
    """A JSON object per line (docs/formats.md#jsonl)."""

    avro: AvroFileSpec | None = None
    """Container files of Avro (docs/formats.md#avro)."""

    orc: OrcSpec | None = None
    """ORC (docs/formats.md#orc)."""

    kafka: KafkaSegmentSpec | None = None
    """Record batches as brokers sent them (docs/backup.md)."""

    archive: ArchiveSpec | None = None
    """Tar archives with a file for each record (docs/archives.md)."""

    text: TextSpec | None = Field(default_factory=_unless_another_format)
    """One value per line (docs/formats.md#text)."""

    partition_by: Annotated[tuple[PartitionRule, ...], Field(max_length=5)] = ()
    """Levels of folders below the topic, outermost first; `[]` for none. A range of offsets becomes one object per
    folder."""

    @classmethod
    def of(cls, name: Format, **settings: Any) -> Self:
        """Return an output in a format, with some of its settings."""
        return cls.model_validate({name: settings})

    @property
    def format(self) -> Format:
        """The format of files."""
        return next(name for name in FORMATS if getattr(self, name) is not None)

    @property
    def settings(self) -> Settings:
        """The settings of the format."""
        return cast("Settings", getattr(self, self.format))

    @property
    def compression(self) -> str:
        return self.settings.compression

    @property
    def tombstones(self) -> Literal["skip", "empty", "null"]:
        """Treatment of a record whose value is null."""
        return self.settings.tombstones

    def columns_of_kafka(self, *, has_schema: bool) -> tuple[KafkaColumn, ...]:
        """Return Kafka's own fields that become columns, beside columns of values or without."""
        settings = self.settings
        return settings.columns_of_kafka(has_schema=has_schema) if isinstance(settings, ColumnarSpec) else ()

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

    _one_format_is_named = exactly_one(*FORMATS, optional=True)

    @refuses
    def _levels_differ(self) -> Iterator[Finding]:
        levels = self.partition_by
        for at, one in enumerate(levels):
            if one.source is None and levels.index(one) < at:
                told = f"is the same level as partitionBy[{levels.index(one)}]"
                yield Finding(told, "remove one of them", ("partitionBy", at))
        yield from levels_of_same_folders(levels)

    @refuses
    def _names_in_an_archive_differ(self) -> Iterator[Finding]:
        if self.archive is None or "{feed}" in self.archive.file_name:
            return
        if all(one.key is None for one in self.partition_by):
            told = "lacks {feed}, and no folder is that of one key, so two feeds could have one name"
            yield Finding(told, "add {feed}, or a level key to partitionBy", ("archive", "fileName"))
