"""Columns of a Hive table, and the classes by which engines read its files. Pure."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from logpersister.manifest import LogPersister
from logpersister.manifest.blocks.output import Format
from logpersister.manifest.rules.hive_types import hive_columns
from logpersister.tables.columns import check_columns

_MAPRED: Final = "org.apache.hadoop.mapred"
_QL: Final = "org.apache.hadoop.hive.ql.io"
_SERDE: Final = "org.apache.hadoop.hive.serde2"


@dataclass(frozen=True, slots=True)
class FileClasses:
    """The Java classes by which engines know a format."""

    input: str
    output: str
    serde: str
    parameters: Mapping[str, str] = field(default_factory=dict)


_LINES: Final = f"{_QL}.HiveIgnoreKeyTextOutputFormat"
_WHOLE_VALUE: Final = {"serialization.format": "1", "serialization.last.column.takes.rest": "true"}
"""A value may have the byte in it at which columns would be split."""
CLASSES: Final[Mapping[Format, FileClasses]] = {
    "parquet": FileClasses(
        f"{_QL}.parquet.MapredParquetInputFormat",
        f"{_QL}.parquet.MapredParquetOutputFormat",
        f"{_QL}.parquet.serde.ParquetHiveSerDe",
        {"serialization.format": "1"},
    ),
    "avro": FileClasses(
        f"{_QL}.avro.AvroContainerInputFormat", f"{_QL}.avro.AvroContainerOutputFormat", f"{_SERDE}.avro.AvroSerDe"
    ),
    "orc": FileClasses(f"{_QL}.orc.OrcInputFormat", f"{_QL}.orc.OrcOutputFormat", f"{_QL}.orc.OrcSerde"),
    # The one that Hive, Athena and Trino have.
    "jsonl": FileClasses(f"{_MAPRED}.TextInputFormat", _LINES, "org.apache.hive.hcatalog.data.JsonSerDe"),
    "text": FileClasses(f"{_MAPRED}.TextInputFormat", _LINES, f"{_SERDE}.lazy.LazySimpleSerDe", _WHOLE_VALUE),
    "sequencefile": FileClasses(
        f"{_MAPRED}.SequenceFileInputFormat",
        f"{_QL}.HiveSequenceFileOutputFormat",
        f"{_SERDE}.lazy.LazySimpleSerDe",
        _WHOLE_VALUE,
    ),
}


@dataclass(frozen=True, slots=True)
class HiveColumns:
    """Required columns of a Hive table."""

    files: tuple[tuple[str, str], ...]
    """Names and types of the columns of files, in lower case."""
    folders: tuple[str, ...]
    """Columns that folders name, by which the table is partitioned; they are text."""
    classes: FileClasses

    def digest(self, table: str) -> str:
        """Return what stands for these columns of a table in the name of a note."""
        said = {"table": table, "columns": self.files, "folders": self.folders, "input": self.classes.input}
        return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:12]


def columns_of(resource: LogPersister) -> HiveColumns:
    """Return what the files of a resource need of a table; overrides aside. Raises `TableError`.

    The registry has been asked already: the resource is that of a revision.
    """
    check_columns(resource)
    output = resource.spec.output
    return HiveColumns(
        hive_columns(output, resource.spec.row_schema),
        tuple(level.folder_prefix.removesuffix("=").lower() for level in output.partition_by),
        CLASSES[output.format],
    )
