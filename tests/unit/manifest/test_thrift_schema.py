"""Texts of Thrift's IDL: what is read, which columns come of it, what is refused."""

from typing import Any

import pytest

from logpersister.schemas.errors import SchemaTextError
from logpersister.schemas.types import Member, Plain
from logpersister.values.thrift.columns import columns_of
from logpersister.values.thrift.plan import plan_of
from logpersister.values.thrift.schema import Field, Kind, Schema, read_schema

EVERYTHING = """
/* A comment // with another beginning. */ # and one more
namespace java com.example.shop (a = "b")
namespace * shop
const i32 LOTS = 0x10
const map<string, list<i32>> TABLE = {"a": [1, 2], 'b': []};
const string GREETING = "it's \\"so\\""
typedef i64 Instant
typedef list<Instant> Instants (cpp.type = "std::vector")
enum State { OPEN = 3 (old = "1"), PAID; CLOSED, AGAIN = 3 }
struct Item { 1: required string sku (go.tag = "a"), -2: optional byte grams = -7 } (final = "1")
union Payment { 1: string card; 2: bool cash = true }
exception Failure { 1: string why }
struct Order {
  32767: Instants at,
  2: list<map<string, set<Item>>> items
  3: optional State state = State.PAID;
  4: State other = CLOSED
  5: i32 count = LOTS;
  6: string greeting = GREETING, 7: double share = -1.5e-3; 8: bool open = 0
  9: map<i32, binary> parts = {}
  10: list<i32> numbers = [1, 2];
  11: set<string> words = []
  12: uuid id
  13: Failure failure
}
service Shop extends shared.Base { Order get(1: i64 id) throws (1: Failure failure), oneway void put(1: Order order) }
"""


def defaults(schema: Schema, struct: str) -> dict[str, Any]:
    return {one.name: one.default for one in schema.structs[struct] if one.default is not None}


def test_everything_that_texts_may_have() -> None:
    schema = read_schema(EVERYTHING)
    assert list(schema.structs) == ["Item", "Payment", "Failure", "Order"]
    assert schema.roots == ("Item", "Payment", "Order")
    assert schema.enums == {"State": {3: "OPEN", 4: "PAID", 5: "CLOSED"}}
    assert schema.structs["Item"] == (
        Field(1, "sku", Kind("string"), "required"),
        Field(-2, "grams", Kind("i8"), "optional", -7),
    )
    order = {one.name: one for one in schema.structs["Order"]}
    assert order["at"] == Field(32767, "at", Kind("list", inner=(Kind("i64"),)), "default")
    items = Kind("map", inner=(Kind("string"), Kind("set", inner=(Kind("struct", "Item"),))))
    assert order["items"].kind == Kind("list", inner=(items,))
    assert defaults(schema, "Order") == {
        "state": 4,
        "other": 5,
        "count": 16,
        "greeting": 'it\'s "so"',
        "share": -0.0015,
        "open": False,
        "parts": {},
        "words": [],
    }


def test_columns_of_a_struct() -> None:
    found = {one.name: (str(one.type), one.required, one.remark) for one in columns_of(EVERYTHING, "Order")}
    assert found == {
        "at": ("list<int64 not null>", False, "list"),
        "items": (
            "list<map<string, list<struct<sku: string not null, grams: int8> not null> not null> not null>",
            False,
            "list",
        ),
        "state": ("string", False, "State"),
        "other": ("string", False, "State"),
        "count": ("int32", False, "i32"),
        "greeting": ("string", False, "string"),
        "share": ("float64", False, "double"),
        "open": ("bool", False, "bool"),
        "parts": ("map<string, binary[base64] not null>", False, "map"),
        "numbers": ("list<int32 not null>", False, "list"),
        "words": ("list<string not null>", False, "set"),
        "id": ("None", False, "it is a uuid"),
        "failure": ("struct<why: string>", False, "Failure"),
    }
    assert [one.required for one in columns_of(EVERYTHING, "Item")] == [True, False]


@pytest.mark.parametrize(
    ("type_", "remark"),
    [
        ("S", "S has itself in it"),
        ("map<double, i32>", "it is a map whose keys are double, which cannot become texts"),
        ("map<list<i32>, i32>", "it is a map whose keys are list, which cannot become texts"),
        ("list<" * 20 + "i32" + ">" * 20, "it is nested more than 16 deep"),
        ("Wide5", "it has more than 1000 columns at all depths together"),
    ],
)
def test_what_can_be_no_column(type_: str, remark: str) -> None:
    wide = "struct Wide0 { 1: i32 a }" + "".join(
        f"struct Wide{level} {{ {' '.join(f'{one}: Wide{level - 1} f{one}' for one in range(1, 11))} }}"
        for level in range(1, 6)
    )
    (found,) = columns_of(f"struct Empty {{ }} {wide} struct S {{ 1: {type_} a }}", "S")
    assert (found.type, found.remark) == (None, remark)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('include "a.thrift" struct S { 1: i32 a }', "it includes another file: put what it needs"),
        ("struct S { i32 a }", "its line 1 has 'i32' where a number is expected"),
        ("struct S { 1: i32 a", "it ends too early"),
        ("struct S { 40000: i32 a }", "the number 40000, which 16 bits do not hold"),
        ("struct S { 1: i32 a; 1: i32 b }", "two fields of one number or name"),
        ("struct S { 1: Unknown a }", "its type Unknown is not known"),
        ("struct S { 1: i32 a } struct S { }", "it has the type S twice"),
        ("typedef A B typedef B A struct S { 1: A a }", "a typedef of a typedef"),
        ("enum E { A, A } struct S { 1: E a }", "two symbols A"),
        ("enum E { A = 2147483648 } struct S { 1: E a }", "which 32 bits do not hold"),
        ("struct S { 1: double a = nan }", "the default of its field a does not fit its type"),
        ("enum E { A } struct S { 1: E a = E.B }", "the default of its field a does not fit its type"),
        ("struct S { 1: " + "list<" * 40 + "i8" + ">" * 40 + " a }", "nested more than 32 deep"),
        ("/* struct S { }", "a comment without an end"),
    ],
)
def test_a_text_that_is_refused(text: str, problem: str) -> None:
    with pytest.raises(SchemaTextError, match=problem):
        read_schema(text)


def test_a_few_typedefs_of_each_other_cost_nothing() -> None:
    doubled = "".join(f"typedef map<T{level - 1}, T{level - 1}> T{level} " for level in range(1, 30))
    with pytest.raises(SchemaTextError, match="f: it is map there, which cannot become int8"):
        plan_of(
            f"typedef i8 T0 {doubled} struct S {{ 1: T29 f }}", None, [Member("f", Plain("int8"), required=False)], {}
        )


def test_more_fields_than_columns_are_not_looked_at() -> None:
    idl = f"struct S {{ {' '.join(f'{number}: i8 f{number}' for number in range(1, 1002))} }}"
    with pytest.raises(SchemaTextError, match="more than 1000 columns"):
        columns_of(idl, None)
    member = Member("f1001", Plain("int8"), required=False)
    assert plan_of(idl, None, [member], {}) == '[{"number":1001,"kind":"i8","default":null}]'


def test_which_struct_values_are() -> None:
    schema = read_schema("struct A { } struct B { } exception C { }")
    assert schema.struct("B") == "B"
    with pytest.raises(SchemaTextError, match="it has several structs, and none is named"):
        schema.struct(None)
    with pytest.raises(SchemaTextError, match="it has no struct D"):
        schema.struct("D")
    with pytest.raises(SchemaTextError, match="it has no struct"):
        read_schema("enum E { }").struct(None)
    assert read_schema("struct A { } exception C { }").struct(None) == "A"
