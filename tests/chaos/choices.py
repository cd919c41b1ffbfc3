"""What the groups of a run have: chosen by the seed, or by whoever calls, so that all of it meets in the long run."""

import random
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, get_args

TableKind = Literal["iceberg", "types", "hive"]
Late = Literal["append", "folder", "quarantine"]
Registration = Literal["onFirstObject", "onFinish"]
Incompatible = Literal["never", "pin", "mend", "delete"]
Parser = Literal["protobuf", "thrift", "messagepack", "csv", "regex"]
Format = Literal["avro", "orc", "parquet", "jsonl"]
Files = Literal["sequencefile", "kafka"]


@dataclass(frozen=True, slots=True)
class Choices:
    """Of one run."""

    table: TableKind = "iceberg"
    """Of group `table`: one of sales in Iceberg, one for each type of events in Iceberg, or one of sales in Hive."""
    partitions: Registration = "onFirstObject"
    """When a folder is a partition of the Hive table."""
    late: Late = "append"
    """`finish.late` of group `table`."""
    keeps: bool = False
    """Whether conditions leave records out (`conditions`)."""
    incompatible: Incompatible = "never"
    """What helps against a version of the schema of sales that can read none before it: the manifest names the version
    before, a further version reads all, or that one is deleted. Never: there is no such version."""
    parser: Parser = "protobuf"
    """Of readings."""
    format: Format = "avro"
    """Of their files."""
    files: Files = "sequencefile"
    """Of group `files`. The format `kafka` is a backup, from which history is replayed and topics are restored."""

    def __str__(self) -> str:
        hive = f" ({self.partitions})" if self.table == "hive" else ""
        conditions = f"{'some' if self.keeps else 'no'} conditions"
        of_rows = f"{conditions}, {self._of_schemas}, {self.parser} as {self.format}"
        return f"table {self.table}{hive}, late {self.late}, {of_rows}, files as {self.files}"

    @property
    def _of_schemas(self) -> str:
        if self.incompatible == "never":
            return "compatible schemas"
        return f"an incompatible schema ({self.incompatible})"


TABLES: Final[tuple[TableKind, ...]] = get_args(TableKind)
LATE: Final[tuple[Late, ...]] = get_args(Late)
INCOMPATIBLE: Final[tuple[Incompatible, ...]] = get_args(Incompatible)
PARSERS: Final[tuple[Parser, ...]] = get_args(Parser)
FORMATS: Final[tuple[Format, ...]] = get_args(Format)
FILES: Final[tuple[Files, ...]] = get_args(Files)


def chosen(seed: int, **fixed: Any) -> Choices:
    """Return what a seed chooses, but for what is fixed and not None."""
    chance = random.Random(f"choices {seed}")
    found = Choices(
        table=chance.choice(TABLES),
        partitions=chance.choice(get_args(Registration)),
        late=chance.choice(LATE),
        keeps=chance.random() < 0.7,
        incompatible=chance.choice(INCOMPATIBLE),
        parser=chance.choice(PARSERS),
        format=chance.choice(FORMATS),
        files=chance.choice(FILES),
    )
    return replace(found, **{name: value for name, value in fixed.items() if value is not None})
