"""Maps folders to partitions of a Hive table. Pure.

A partition has its values as they are, and its location as the bucket has it: whatever Hive would call the folder,
engines read the one that is named.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from logpersister.records.field_paths import NULL


@dataclass(frozen=True, slots=True, order=True)
class Partition:
    """A folder as metastores know it."""

    values: tuple[str, ...]
    """One for each level, outermost first; `NULL` is null."""
    path: str
    """Folder path below its topic."""


def partition_of(path: str, prefixes: Sequence[str]) -> Partition | None:
    """Return the partition that a path is, by the prefixes of the levels; None: its folders are of other levels."""
    segments = path.split("/")
    if len(segments) != len(prefixes):
        return None
    values = []
    for segment, prefix in zip(segments, prefixes, strict=True):
        if not segment.startswith(prefix) or segment == prefix:
            return None
        values.append(_value(segment.removeprefix(prefix)))
    return Partition(tuple(values), path)


def _value(name: str) -> str:
    """Return the text that a folder's value stands for.

    The text that Hive takes for null would be the same partition as null: it stays as it is in the folder's name.
    """
    text = unquote(name)
    return name if text == NULL else text
