"""Rows of an Avro file for people: dates, times and instants as text."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import numpy as np

from logpersister.cli.rows import shown
from logpersister.cli.shown_record import ShownRecord
from logpersister.verify.avro_file import Rows
from logpersister.verify.avro_schema import WrittenType

TIMESTAMP: Final = "kafka_timestamp"


def shown_rows(rows: Rows) -> Iterator[ShownRecord]:
    """Yield rows as ``head`` shows them, with bytes and instants as text."""
    for row in rows.values:
        fields = zip(rows.record.fields, row, strict=True)
        yield shown({name: one if name == TIMESTAMP else readable(type_, one) for (name, type_), one in fields})


def readable(written: WrittenType, value: Any) -> Any:
    """Return a value as JSON can show it; bytes stay bytes."""
    if value is None:
        return None
    match written.kind:
        case "union":
            return readable(next(one for one in written.of if one.kind != "null"), value)
        case "record":
            return {name: readable(type_, value[name]) for name, type_ in written.fields}
        case "array":
            return [readable(written.of[0], one) for one in value]
        case "map":
            return {name: readable(written.of[0], one) for name, one in value}
        case _:
            as_text = _TEXTS.get(str(written.logical))
            return value if as_text is None else as_text(value)


def _civil(value: int, unit: str) -> str:
    return str(np.array(value, f"datetime64[{unit}]"))


def _instant(unit: str) -> Callable[[int], str]:
    return lambda value: f"{_civil(value, unit)}Z"


def _time(unit: str) -> Callable[[int], str]:
    return lambda value: _civil(value, unit).partition("T")[2]


_TEXTS: Final[Mapping[str, Callable[[int], str]]] = {
    "date": lambda value: _civil(value, "D"),
    "time-ms": _time("ms"),
    "time-us": _time("us"),
    "timestamp-ms": _instant("ms"),
    "timestamp-us": _instant("us"),
    "timestamp-ns": _instant("ns"),
}
