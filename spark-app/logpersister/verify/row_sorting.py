"""The order of the rows of a sorted row group, found in plain Python; docs/formats.md says which it should be."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

from logpersister.manifest.format_settings import SortColumnSpec
from logpersister.verify.row_items import Item


@dataclass(frozen=True, slots=True)
class SortedBy:
    """A column of items."""

    path: str
    place: int
    """Of its outermost field among the columns."""
    descending: bool
    nulls_first: bool

    def value(self, item: Item) -> Any:
        """Return what stands there; None also where an item is no row."""
        found = item[self.place] if self.place < len(item) else None
        for name in self.path.split(".")[1:]:
            found = found.get(name) if isinstance(found, dict) else None
        return found

    def comparable(self, item: Item) -> tuple[str, Any]:
        """Return by what items are compared: the type comes first, since an item that is no row has others."""
        value = self.value(item)
        if isinstance(value, float):
            number = 0.0 if math.isnan(value) else value
            return "float", (math.isnan(value), number, math.copysign(1, number))
        return type(value).__name__, value


@dataclass(frozen=True, slots=True)
class RowSorting:
    """The order of the rows of a row group."""

    columns: Sequence[SortedBy]
    """The first first."""

    @classmethod
    def of(cls, wanted: Iterable[SortColumnSpec], names: Sequence[str]) -> Self | None:
        """Return the order of items with columns of these names; None: that of offsets."""
        columns = [
            SortedBy(one.field, names.index(one.field.split(".")[0]), one.order == "descending", one.nulls == "first")
            for one in wanted
        ]
        return cls(columns) if columns else None

    def sorted(self, items: Sequence[Item]) -> list[Item]:
        """Return items of consecutive records as they are sorted."""
        found = list(items)
        for column in reversed(self.columns):  # each keeps the order of what is equal
            nulls = [item for item in found if column.value(item) is None]
            others = [item for item in found if column.value(item) is not None]
            others.sort(key=column.comparable, reverse=column.descending)
            found = [*nulls, *others] if column.nulls_first else [*others, *nulls]
        return found
