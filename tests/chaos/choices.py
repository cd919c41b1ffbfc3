"""What the groups of a run have: chosen by the seed, or by whoever calls, so that all of it meets in the long run."""

import random
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, get_args

TableKind = Literal["iceberg", "hive"]
Late = Literal["append", "folder", "quarantine"]
Registration = Literal["onFirstObject", "onFinish"]
Files = Literal["sequencefile", "kafka"]


@dataclass(frozen=True, slots=True)
class Choices:
    """Of one run."""

    table: TableKind = "iceberg"
    """Of group `table`: one of sales in Iceberg, or one in Hive."""
    partitions: Registration = "onFirstObject"
    """When a folder is a partition of the Hive table."""
    late: Late = "append"
    """`finish.late` of group `table`."""
    files: Files = "sequencefile"
    """Of group `files`. The format `kafka` is a backup, from which history is replayed and topics are restored."""

    def __str__(self) -> str:
        hive = f" ({self.partitions})" if self.table == "hive" else ""
        return f"table {self.table}{hive}, late {self.late}, files as {self.files}"


TABLES: Final[tuple[TableKind, ...]] = get_args(TableKind)
LATE: Final[tuple[Late, ...]] = get_args(Late)
FILES: Final[tuple[Files, ...]] = get_args(Files)


def chosen(seed: int, **fixed: Any) -> Choices:
    """Return what a seed chooses, but for what is fixed and not None."""
    chance = random.Random(f"choices {seed}")
    found = Choices(
        table=chance.choice(TABLES),
        partitions=chance.choice(get_args(Registration)),
        late=chance.choice(LATE),
        files=chance.choice(FILES),
    )
    return replace(found, **{name: value for name, value in fixed.items() if value is not None})
