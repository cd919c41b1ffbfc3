"""The topic of Avro values: a schema that evolves while old writers go on, bad values, tombstones, unknown ids.

Which value is which is decided by fastavro and by what was registered, never by the product.
"""

import random
import time
from collections.abc import Mapping
from decimal import Decimal
from io import BytesIO
from typing import Any, NamedTuple, Protocol

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq

from tests.chaos.check import Row, Seen, seen_as
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
from tests.chaos.sale_schemas import (
    ADDED_BY_REFUSED,
    COLUMNS,
    DEFAULTS,
    MENDED,
    SCHEMAS,
    WIDENED,
    Schema,
    refused_version,
    versions,
)

TOPIC = "sales"
SUBJECT = f"{TOPIC}-value"
SHOPS = 300
PREFIX = "by_shop="
_UNKNOWN_ID = 999_999
_HEADER_BYTES = 5
_LARGE_CHARACTERS = 190_000

_OTHER = {"type": "record", "name": "Sale", "fields": [{"name": "id", "type": "string"}]}
"""Of another subject: its values can be no row."""


_PARSED_OTHER = fastavro.parse_schema(_OTHER)


class Registry(Protocol):
    """`tests.stack.SchemaRegistry`, as far as producers use it."""

    def register(self, subject: str, schema: Any) -> int: ...

    def delete_version(self, subject: str, version: int) -> None: ...


class Version(NamedTuple):
    """A version by which producers write."""

    id: int
    schema: Any
    number: int
    """Of the columns that its values ask for."""
    leaves_out: str = ""
    """A field that no column has."""


class Writers:
    """What has been registered. Producers write by any version of it."""

    def __init__(self, registry: Registry, *, only_added: bool = False) -> None:
        """Register the first version; ``only_added``: none follows in which a column is wider than before."""
        self._registry = registry
        self._most = WIDENED - 1 if only_added else len(SCHEMAS)
        self._registered: list[tuple[str, Schema, int]] = []
        """Subjects with schemas and their ids, in the order in which they were registered."""
        self.versions: list[Version] = []
        self._number = 0
        """How far the schema has evolved."""
        self._refused_at = 0
        """How far it had when a version came that could read none before it; 0: there is none."""
        self._is_mended = self._is_deleted = False
        self._evolve_to(1)
        self.other = self._register("other-value", _OTHER)

    def evolve(self) -> int | None:
        """Register the next version; return its number, None if there is none."""
        waits = self._refused_at and not (self._is_mended or self._is_deleted)
        if self._number == self._most or waits:
            return None
        return self._evolve_to(self._number + 1)

    def refuse(self) -> int:
        """Register a version that can read none before it; return the number of the last one that could."""
        at = self._refused_at = self._number
        schema = refused_version(at)
        self._write_by(schema, at, leaves_out=ADDED_BY_REFUSED)
        return at

    def delete_refused(self) -> None:
        """Delete that version. Those who write by it go on; further ones do not have its field."""
        self._registry.delete_version(SUBJECT, self._refused_at + 1)
        self._is_deleted = True

    def mend(self) -> int:
        """Register one that can read all of them, and has their fields; return its number."""
        self._is_mended = True
        *before, refused = self.versions
        self.versions = [*before, refused._replace(number=MENDED + self._number, leaves_out="")]
        return self._evolve_to(self._number)

    def register_again(self) -> None:
        """Give a registry that has lost everything what it had, under the same ids."""
        again = [self._registry.register(subject, schema) for subject, schema, _ in self._registered]
        if again != [schema_id for _, _, schema_id in self._registered]:
            raise RuntimeError(f"the registry has given other ids: {again}")
        if self._is_deleted:
            self._registry.delete_version(SUBJECT, self._refused_at + 1)

    def _evolve_to(self, number: int) -> int:
        schema = versions(self._refused_at if self._is_mended else 0)[number - 1]
        self._write_by(schema, MENDED + number if self._is_mended else number)
        self._number = number
        return number

    def _write_by(self, schema: Schema, number: int, *, leaves_out: str = "") -> None:
        schema_id = self._register(SUBJECT, schema)  # before anybody writes by it
        self.versions.append(Version(schema_id, fastavro.parse_schema(schema), number, leaves_out))

    def _register(self, subject: str, schema: Schema) -> int:
        schema_id = self._registry.register(subject, schema)
        self._registered.append((subject, schema, schema_id))
        return schema_id


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
        versions = list(self._writers.versions)
        # The newest two write most: a deploy that is under way.
        version = versions[-1] if chance.random() < 0.5 else chance.choice(versions)
        return _encoded(version.schema, self._row(version, large=large), version.id)

    def _row(self, version: Version, *, large: bool) -> dict[str, Any]:
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
            "origin": chance.choice(("web", "app")),
        }
        return {one["name"]: row[one["name"]] for one in version.schema["fields"]}

    def _shop(self) -> str | None:
        kind = self._chance.random()
        if kind < 0.02:
            return None
        # Half of the sales are of a tenth of the shops.
        number = self._chance.randrange(SHOPS // 10 if kind < 0.5 else SHOPS)
        return f"Köln/{number} a" if number % 7 == 0 else f"shop-{number}"

    def _bad(self) -> bytes:
        first = self._writers.versions[0]
        good = _encoded(first.schema, self._row(first, large=False), first.id)
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
        self._version_of = {version.id: version for version in writers.versions}
        self._other = writers.other

    def seen(self, record: Any) -> Seen:
        """Return a record as kafka-python's consumer has given it, judged."""
        left_out = self._keeps and not keep_headers(record.headers)
        judged = _LEFT_OUT if left_out else self._judged(record.value)
        return seen_as(record, *judged)._replace(if_late=refused_digest("late", record.value or b""))

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
        row = _decoded(version.schema, value[_HEADER_BYTES:])
        if row is None:
            return _Judged(QUARANTINE, refused_digest("not_avro", value))
        row.pop(version.leaves_out, None)
        if self._keeps and not keep_sale(row):
            return _LEFT_OUT
        return _Judged(folder(PREFIX, row["shop"]), row_digest(row, DEFAULTS), version.number)


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
