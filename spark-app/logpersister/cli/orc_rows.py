"""Rows of an ORC file for people: dates and instants as text."""

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from logpersister.cli.rows import shown
from logpersister.cli.shown_record import ShownRecord
from logpersister.verify.orc import OrcRows
from logpersister.verify.orc_tail import Kind, OrcType

_TIMESTAMP: Final = "kafka_timestamp"
_UNITS: Final = {10**9: "s", 10**6: "ms", 10**3: "us", 1: "ns"}
"""Units by their nanoseconds, coarsest first: an instant is shown with the digits that it needs."""


def shown_rows(rows: OrcRows) -> Iterator[ShownRecord]:
    """Yield rows as ``head`` shows them, with dates and instants as text."""
    for row in rows:
        columns = zip(rows.names, rows.types, row, strict=True)
        yield shown({name: _milliseconds(one) if name == _TIMESTAMP else readable(t, one) for name, t, one in columns})


def readable(type_: OrcType, value: Any) -> Any:  # noqa: PLR0911  (one for each kind)
    """Return a value as JSON can show it; bytes stay bytes."""
    if value is None:
        return None
    match type_.kind:
        case Kind.STRUCT:
            return {name: readable(one, value[name]) for name, one in zip(type_.names, type_.of, strict=True)}
        case Kind.LIST:
            return [readable(type_.of[0], one) for one in value]
        case Kind.MAP:
            return {name: readable(type_.of[1], one) for name, one in value}
        case Kind.DATE:
            return str(np.array(value, "datetime64[D]"))
        case Kind.TIMESTAMP | Kind.INSTANT:
            size, unit = next((size, unit) for size, unit in _UNITS.items() if value % size == 0)
            zone = "Z" if type_.kind == Kind.INSTANT else ""
            return f"{np.array(value // size, f'datetime64[{unit}]')}{zone}"
        case _:
            return value


def _milliseconds(nanoseconds: int | None) -> int | None:
    return None if nanoseconds is None else nanoseconds // 10**6
