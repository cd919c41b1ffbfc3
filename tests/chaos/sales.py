"""The topic of Avro values: a schema that evolves while old writers go on, bad values, tombstones, unknown ids.

Which value is which is decided by fastavro and by what was registered, never by the product.
"""

import random
import time
from collections.abc import Mapping, Sequence
from decimal import Decimal
from io import BytesIO
from typing import Any, NamedTuple, Protocol

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq

from tests.chaos.check import Row, Seen, digest
from tests.chaos.conditions import keep_headers, keep_sale
from tests.chaos.contents import (
    KAFKA,
    QUARANTINE,
    folder,
    minute_folder,
    quarantined_row,
    refused_digest,
    row_digest,
    row_of,
)
from tests.chaos.minutes import MinuteFolders

TOPIC = "sales"
SUBJECT = f"{TOPIC}-value"
SHOPS = 300
PREFIX = "by_shop="
_UNKNOWN_ID = 999_999
_HEADER_BYTES = 5
_LARGE_CHARACTERS = 190_000

_MONEY = {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}
_MOMENT = {"type": "long", "logicalType": "timestamp-millis"}
_GEO = {
    "type": "record",
    "name": "Geo",
    "fields": [{"name": "country", "type": "string"}, {"name": "lat", "type": "double"}],
}
_FIRST = (
    {"name": "id", "type": "long"},
    {"name": "shop", "type": ["null", "string"]},
    {"name": "at", "type": _MOMENT},
    {"name": "price", "type": _MONEY},
    {"name": "note", "type": "string"},
)
_ADDED: Sequence[dict[str, Any]] = (
    {"name": "coupon", "type": ["null", "string"], "default": None},
    {"name": "rating", "type": "int", "default": -1},
    {"name": "rating", "type": "long", "default": -1},
    {"name": "tags", "type": {"type": "array", "items": "string"}, "default": []},
    {"name": "geo", "type": ["null", _GEO], "default": None},
)
"""What each further version adds, or widens."""
WIDENED = 4
"""The version in which a column is wider than before."""
DEFAULTS: Mapping[str, Any] = {one["name"]: one["default"] for one in _ADDED}
_OTHER = {"type": "record", "name": "Sale", "fields": [{"name": "id", "type": "string"}]}
"""Of another subject: its values can be no row."""


def _versions() -> list[dict[str, Any]]:
    fields = {one["name"]: one for one in _FIRST}
    found = [dict(fields)]
    for added in _ADDED:
        fields[added["name"]] = added
        found.append(dict(fields))
    return [{"type": "record", "name": "Sale", "fields": list(one.values())} for one in found]


SCHEMAS = _versions()
_PARSED = [fastavro.parse_schema(one) for one in SCHEMAS]
_PARSED_OTHER = fastavro.parse_schema(_OTHER)
COLUMNS: Mapping[tuple[tuple[str, str], ...], int] = {
    tuple((one["name"], "long" if one["type"] == "long" else "") for one in schema["fields"]): number
    for number, schema in enumerate(SCHEMAS, start=1)
}
"""The version of each set of columns; whole numbers by their width."""


class Registry(Protocol):
    """`tests.stack.SchemaRegistry`, as far as producers use it."""

    def register(self, subject: str, schema: Any) -> int: ...


class Writers:
    """What has been registered: ids by version. Producers write by any of them."""

    def __init__(self, registry: Registry, *, only_added: bool = False) -> None:
        """Register the first version; ``only_added``: none follows in which a column is wider than before."""
        self._registry = registry
        self._most = WIDENED - 1 if only_added else len(SCHEMAS)
        self.ids = [registry.register(SUBJECT, SCHEMAS[0])]
        self.other = registry.register("other-value", _OTHER)

    def evolve(self) -> int | None:
        """Register the next version; return its number, None if there is none."""
        if len(self.ids) == self._most:
            return None
        self.ids.append(self._registry.register(SUBJECT, SCHEMAS[len(self.ids)]))  # before anybody writes by it
        return len(self.ids)

    def register_again(self) -> None:
        """Give a registry that has lost everything what it had, under the same ids."""
        again = [self._registry.register(SUBJECT, SCHEMAS[0]), self._registry.register("other-value", _OTHER)]
        again += [self._registry.register(SUBJECT, SCHEMAS[number]) for number in range(1, len(self.ids))]
        if again != [self.ids[0], self.other, *self.ids[1:]]:
            raise RuntimeError(f"the registry has given other ids: {again}")


def _encoded(schema: Any, value: Mapping[str, Any], schema_id: int) -> bytes:
    stream = BytesIO()
    fastavro.schemaless_writer(stream, schema, value)
    return b"\0" + schema_id.to_bytes(4, "big") + stream.getvalue()


class Values:
    """Values of every kind, drawn from a seed."""

    def __init__(self, chance: random.Random, writers: Writers) -> None:
        self._chance = chance
        self._writers = writers
        self._number = 0

    def value(self, *, large: bool = False) -> bytes | None:
        """Return a value: mostly a good one, by any writer."""
        chance = self._chance
        kind = 1.0 if large else chance.random()
        if kind < 0.03:
            return None
        if kind < 0.09:
            return self._bad()
        ids = list(self._writers.ids)
        # The newest two write most: a deploy that is under way.
        version = len(ids) if chance.random() < 0.5 else chance.randint(1, len(ids))
        return _encoded(_PARSED[version - 1], self._row(version, large=large), ids[version - 1])

    def _row(self, version: int, *, large: bool) -> dict[str, Any]:
        chance = self._chance
        self._number += 1
        text = chance.randbytes(chance.randint(0, 100)).hex()
        row = {
            "id": self._number,
            "shop": self._shop(),
            "at": int(time.time() * 1000) - chance.randrange(1000),
            "price": Decimal(chance.randrange(-10_000_000, 10_000_000)).scaleb(-2),
            "note": (chance.randbytes(16).hex() * (_LARGE_CHARACTERS // 32)) if large else text,
            "coupon": chance.choice((None, "ten", "Ä")),
            "rating": chance.choice((-1, 0, 5)),
            "tags": ["a", "b"][: chance.randrange(3)],
            "geo": chance.choice((None, {"country": "de", "lat": chance.random()})),
        }
        return {one["name"]: row[one["name"]] for one in SCHEMAS[version - 1]["fields"]}

    def _shop(self) -> str | None:
        kind = self._chance.random()
        if kind < 0.02:
            return None
        # Half of the sales are of a tenth of the shops.
        number = self._chance.randrange(SHOPS // 10 if kind < 0.5 else SHOPS)
        return f"Köln/{number} a" if number % 7 == 0 else f"shop-{number}"

    def _bad(self) -> bytes:
        good = _encoded(_PARSED[0], self._row(1, large=False), self._writers.ids[0])
        return self._chance.choice(
            (
                b"",
                b'{"id": 1}',
                good[:-1] if good[-1:] != b"\0" else good[:_HEADER_BYTES],
                good + b"\0",
                _encoded(_PARSED_OTHER, {"id": "x"}, self._writers.other),
                good[:1] + _UNKNOWN_ID.to_bytes(4, "big") + good[_HEADER_BYTES:],
            )
        )


class _Judged(NamedTuple):
    place: str | None
    content: bytes | None
    version: int = 0


_LEFT_OUT = _Judged(None, None)


class Judge:
    """Says of each record where it belongs, and what its row is."""

    def __init__(self, writers: Writers, *, keeps: bool = False) -> None:
        self._keeps = keeps
        self._version_of = {schema_id: number for number, schema_id in enumerate(writers.ids, start=1)}
        self._other = writers.other

    def seen(self, record: Any) -> Seen:
        """Return a record as kafka-python's consumer has given it, judged."""
        left_out = self._keeps and not keep_headers(record.headers)
        judged = _LEFT_OUT if left_out else self._judged(record.value)
        return Seen(
            record.offset,
            record.timestamp,
            digest(record.key) if record.key is not None else None,
            digest(record.value) if record.value is not None else None,
            *judged,
            if_late=refused_digest("late", record.value or b""),
        )

    def _judged(self, value: bytes | None) -> _Judged:
        if value is None:
            return _Judged(folder(PREFIX, None), None)
        if value[:1] != b"\0" or len(value) < _HEADER_BYTES:
            return _Judged(QUARANTINE, refused_digest("no_header", value))
        schema_id = int.from_bytes(value[1:_HEADER_BYTES], "big")
        version = self._version_of.get(schema_id)
        if version is None:
            reason = "other_schema" if schema_id == self._other else "unknown_schema"
            return _Judged(QUARANTINE, refused_digest(reason, value))
        row = _decoded(_PARSED[version - 1], value[_HEADER_BYTES:])
        if row is None:
            return _Judged(QUARANTINE, refused_digest("not_avro", value))
        if self._keeps and not keep_sale(row):
            return _LEFT_OUT
        return _Judged(folder(PREFIX, row["shop"]), row_digest(row, DEFAULTS), version)


def _decoded(schema: Any, body: bytes) -> dict[str, Any] | None:
    """Return the row of a value without its header; None if it is none."""
    stream = BytesIO(body)
    try:
        row = fastavro.schemaless_reader(stream, schema, None)
    except (EOFError, IndexError, ValueError):
        return None
    assert isinstance(row, dict)
    return None if stream.read(1) else row


class ByMinute(MinuteFolders):
    """Rows in a folder for each minute of Kafka's time; a tombstone is a row of nulls."""

    def folder(self, record: Seen) -> str:
        return minute_folder(record.timestamp)


def rows_of(content: bytes, *, quarantined: bool) -> tuple[list[Row], int]:
    """Read a Parquet file of rows, or of quarantine; return its rows and the version of its columns.

    Raises:
        ValueError: no version of the schema has these columns.
    """
    table = pq.read_table(BytesIO(content))
    if quarantined:
        return [quarantined_row(one) for one in table.to_pylist()], 0
    columns = tuple((field.name, _width(field)) for field in table.schema if field.name not in KAFKA)
    version = COLUMNS.get(columns)
    if version is None:
        raise ValueError(f"no version of the schema has the columns {[name for name, _ in columns]}")
    return [row_of(one, DEFAULTS) for one in table.to_pylist()], version


def _width(field: Any) -> str:
    return "long" if pa.types.is_int64(field.type) else ""
