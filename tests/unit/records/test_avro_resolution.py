"""Schema resolution, bullet by bullet of Avro's specification 1.12, beside what fastavro makes of the same.

Columns are a reader's schema that takes more: names of types, sizes and symbols do not count (docs/schemas.md). Each
case in which that shows has what the specification says beside what our rows have.
"""

import json
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

import fastavro
import pytest

from logpersister.values.avro.rows import AvroRows
from logpersister.values.avro.source import AvroSource
from logpersister.values.row_schema import RowSchema
from tests.unit.records.avro_samples import KnownWriters, encoded
from tests.unit.records.judging import judged_by
from tests.unit.records.test_avro_rows import read_by_fastavro

Json = Any
AS_OURS: Final = object()
ERROR: Final = "an error"


@dataclass(frozen=True)
class Refused:
    """A value that becomes no row, and why."""

    reason: str
    field: str | None = "f"


@dataclass(frozen=True)
class Case:
    """A field of the writer that becomes one of the reader."""

    bullet: str
    written: Json
    declared: Json
    value: Any
    row: Any
    """What our column has, or `Refused`."""
    specified: Any = AS_OURS
    """What the specification says and fastavro does, or `ERROR`, where that is something else."""


MISFIT: Final = Refused("other_schema", None)


def record(name: str, *fields: Json) -> Json:
    return {"type": "record", "name": name, "fields": list(fields)}


def field(name: str, type_: Json, **more: Json) -> Json:
    return {"name": name, "type": type_, **more}


def enum(name: str, *symbols: str, **more: Json) -> Json:
    return {"type": "enum", "name": name, "symbols": list(symbols), **more}


def fixed(name: str, size: int) -> Json:
    return {"type": "fixed", "name": name, "size": size}


def array(items: Json) -> Json:
    return {"type": "array", "items": items}


def mapped(values: Json) -> Json:
    return {"type": "map", "values": values}


PLACE: Final = record("Place", field("x", "int"), field("y", "string"))

PLACE_VALUE: Final = {"x": 1, "y": "a"}
ENUMS: Final = "both schemas are enums whose (unqualified) names match"
FIXED: Final = "both schemas are fixed whose sizes and (unqualified) names match"
RECORDS: Final = "both schemas are records with the same (unqualified) name"

CASES: Final = [
    *(
        Case("both schemas have same primitive type", type_, type_, value, value)
        for type_, value in (
            ("boolean", True),
            ("int", -(2**31)),
            ("long", 2**63 - 1),
            ("double", 0.1),
            ("string", "\u00e4"),
        )
    ),
    Case("int is promotable to long, float, or double", "int", "long", -7, -7),
    Case("long is promotable to float or double", "long", "double", 2**53, float(2**53)),
    # What a double cannot hold exactly is refused, where the specification rounds.
    Case("long is promotable to float or double", "long", "double", 2**53 + 1, Refused("overflow", "f"), float(2**53)),
    Case("float is promotable to double", "float", "double", 0.5, 0.5),
    Case("string is promotable to bytes", "string", "bytes", "\u00e4", "\u00e4".encode()),
    Case("bytes is promotable to string", "bytes", "string", "\u00e4".encode(), "\u00e4"),
    Case("bytes is promotable to string", "bytes", "string", b"\xff", Refused("not_utf8"), ERROR),
    *(
        Case("nothing else is promotable", written, declared, value, MISFIT, ERROR)
        for written, declared, value in (
            ("long", "int", 1),
            ("double", "long", 1.0),
            ("string", "int", "1"),
            ("boolean", "int", True),
            ("string", array("string"), "a"),
            (PLACE, mapped("int"), PLACE_VALUE),
        )
    ),
    Case("both schemas are arrays whose item types match", array("int"), array("long"), [1, 2], [1, 2]),
    Case("both schemas are arrays whose item types match", array("string"), array("int"), ["a"], MISFIT, ERROR),
    Case("both schemas are maps whose value types match", mapped("int"), mapped("double"), {"a": 1}, [("a", 1.0)]),
    Case("both schemas are maps whose value types match", mapped("string"), mapped("int"), {"a": "b"}, MISFIT, ERROR),
    Case(ENUMS, enum("E", "A"), enum("F", "A"), "A", "A", ERROR),
    Case(
        "enums: if the writer's symbol is not present in the reader's enum and the reader has a default value, then "
        "that value is used",
        enum("E", "A", "B"),
        enum("E", "A", default="A"),
        "B",
        "B",
        "A",
    ),
    Case(FIXED, fixed("n.F", 2), fixed("F", 2), b"ab", b"ab"),
    Case(FIXED, fixed("F", 2), fixed("F", 3), b"ab", b"ab", ERROR),
    Case(RECORDS, PLACE, {**PLACE, "name": "Other"}, PLACE_VALUE, PLACE_VALUE, ERROR),
    Case(
        "records: if the reader's record schema has a field that contains a default value, and writer's schema does "
        "not have a field with the same name, then the reader should use the default value",
        PLACE,
        record(
            "Place", field("x", "int"), field("z", ["null", "long"], default=None), field("w", "string", default="b")
        ),
        PLACE_VALUE,
        {"x": 1, "z": None, "w": "b"},
    ),
    Case(
        "records: if the reader's record schema has a field with no default value, and writer's schema does not have a "
        "field with the same name, an error is signalled",
        PLACE,
        record("Place", field("x", "int"), field("z", "long")),
        PLACE_VALUE,
        MISFIT,
        ERROR,
    ),
    Case(
        "aliases: of a field",
        PLACE,
        record("Place", field("long", "long", aliases=["z", "x"]), field("y", "string")),
        PLACE_VALUE,
        {"long": 1, "y": "a"},
    ),
    Case(
        "aliases: of a named type",
        record("Point", field("x", "int")),
        {**record("Place", field("x", "int")), "aliases": ["Point"]},
        {"x": 1},
        {"x": 1},
    ),
    Case("if reader's is a union, but writer's is not", "int", ["null", "long"], 5, 5),
    Case("if reader's is a union, but writer's is not", "string", ["null", "long"], "a", MISFIT, ERROR),
    Case("if writer's is a union, but reader's is not", ["null", "int"], "long", None, Refused("missing"), ERROR),
    Case("if writer's is a union, but reader's is not", ["string", "int"], "long", 5, 5),
    Case("if writer's is a union, but reader's is not", ["string", "int"], "long", "a", Refused("wrong_type"), ERROR),
    Case("if both are unions", ["null", "int"], ["double", "null"], 5, 5.0),
    Case("if both are unions", ["int", "string"], ["null", "int"], "a", Refused("wrong_type"), ERROR),
    Case("if both are unions", ["string", "null"], ["null", "int"], "a", MISFIT, ERROR),
    Case(
        "a logical type is that of its reader",
        "bytes",
        {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2},
        b"\x01\x00",
        Decimal("2.56"),
        b"\x01\x00",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.bullet[:60]}-{case.written}-{case.declared}"[:140])
def test_a_case_of_the_specification(case: Case) -> None:
    writer, reader = record("r", field("f", case.written)), record("r", field("f", case.declared))
    columns, writers = RowSchema(source=AvroSource(json.dumps(reader))), KnownWriters({1: writer})
    value = encoded(writer, {"f": case.value})
    refused = isinstance(case.row, Refused)
    expected = ([], [(0, case.row.reason, case.row.field)]) if refused else ([{"f": case.row}], [])
    assert judged_by(AvroRows(columns, "confluent", writers), [value]) == expected
    specified = case.row if case.specified is AS_OURS else case.specified
    if specified is ERROR:
        with pytest.raises((fastavro.read.SchemaResolutionError, UnicodeDecodeError)):
            read_by_fastavro(value, writer, reader)
        return
    read = read_by_fastavro(value, writer, reader)["f"]
    assert (list(read.items()) if isinstance(specified, list) and isinstance(read, dict) else read) == specified
