"""What the rules of ``spec.keep`` accept and refuse; `test_rules` and the API server judge it."""

from typing import Any

from tests.outputs import output_in

F, KEEP, OF = "spec.output.", "spec.keep", "spec.overrides"
COMPARED = (
    {"name": "country", "type": "string"},
    {"name": "of", "type": "struct<n: int8, f: float32, d: decimal(5,2), b: bool, day: date, t: time[ms], raw: json>"},
    {"name": "at", "type": "timestamp[ms]"},
    {"name": "fine", "type": "timestamp[ns]"},
    {"name": "sent", "type": "timestamp[s]", "format": "epoch[ms]"},
    {"name": "tags", "type": "list<string>"},
)


def keeping(*conditions: dict[str, Any], drop: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return changes with conditions on fields of all types."""
    parser = {"type": "json", "quarantine": {"format": "parquet", "keepValue": True}}
    schema = {"fields": list(COMPARED)} | ({"drop": list(drop)} if drop else {})
    return {"spec.parser": parser, "spec.schema": schema, F + "format": "parquet", KEEP: list(conditions)}


def on(field: str, **operators: Any) -> dict[str, Any]:
    """Return a condition on a field; ``is_in`` is ``in``."""
    return {"field": field} | {{"is_in": "in"}.get(name, name): value for name, value in operators.items()}


def keyed(type_: str, parser: str = "text") -> dict[str, Any]:
    changes = keeping()
    return changes | {"spec.schema": changes["spec.schema"] | {"key": {"parser": parser, "type": type_}}}


BY_REGISTRY: dict[str, Any] = {
    "spec.parser": {"type": "avro"},
    "spec.schema": {"registry": {"url": "http://registry:8081"}},
}


def in_types(*keep: dict[str, Any], **entry: Any) -> dict[str, Any]:
    """Return changes with conditions on the records of a type."""
    fields = [{"name": "id", "type": "int8"}]
    shape = {"parser": {"type": "json"}, "schema": {"fields": fields}, "output": {"format": "jsonl"}}
    entries = [{"names": ["a"], **shape, **entry, "keep": list(keep)}]
    return {"spec.types": {"header": "h", "entries": entries}}


def requiring(field: str = "id", type_: str = "string", *, required: bool = True, **parquet: Any) -> dict[str, Any]:
    """Return changes with a condition that asks for records without a field."""
    fields = [{"name": "id", "type": type_, "required": required}]
    changes = keeping(on(field, absent=True)) | {"spec.schema": {"fields": fields}}
    return changes | {F + name: value for name, value in output_in("parquet", parquet).items()}


ACCEPTED_CONDITIONS: list[dict[str, Any]] = [
    keeping(
        on("of.n", atLeast=5, atMost=5), on("of.n", atLeast=5, below=6), on("country", is_in=["a", "b"], notIn=["b"])
    ),
    requiring(required=False),
    requiring("id.n", "struct<n: int8>"),
    requiring("id.n", "struct<n: int8 not null>", required=False),
    requiring(tombstones="null"),
    keeping(on("country", is_in=["DE", "FR"], matches="^D"), on("tags", absent=True), on("of", absent=False)),
    keeping(on("of.n", is_in=[1, 2.0], atLeast=-128, atMost=127, below=5), on("of.b", is_in=[False], orAbsent=True)),
    keeping(on("of.f", atLeast=1, below=2.5), on("of.d", is_in=[1, 1.5, "0.10", "-999.99"], below="1.0")),
    keeping(on("of.day", is_in=["2026-11-21"], below="9999-12-31"), on("of.t", atLeast="00:00:00", below="23:59:59.5")),
    keeping(on("at", atLeast="2026-11-21T05:00:00Z", below="2026-11-21 06:00:00.123+01:00")),
    keeping(on("sent", atLeast=1_795_237_200_000, below="2026-11-21T06:00:00"), drop=("sent",)),
    keeping(on("country", matches="(?:a{10}){100}")),
    {KEEP: [{"header": "env", "in": ["prod"]}, {"header": "env", "absent": False}]},
    keeping(on("country", is_in=["x"])) | {OF: [{"topics": ["clicks"], "parser": {"type": "bytes"}, "keep": []}]},
    keeping() | {OF: [{"topics": ["clicks"], "keep": [on("country", notIn=["x"], orAbsent=True)]}]},
    BY_REGISTRY | {KEEP: [on("unknown.yet", is_in=["x"])]},
    keyed("int64") | {KEEP: [on("key", atLeast=5)]},
    keyed("struct<id: int64>", "json") | {KEEP: [on("key.id", atLeast=5)]},
    in_types(on("id", atLeast=5), {"header": "env", "in": ["prod"]}) | {KEEP: [{"header": "env", "absent": False}]},
]

IN, LEAST = "spec.keep[0].in[0]: ", "spec.keep[0].atLeast: "
REFUSED_CONDITIONS: list[tuple[dict[str, Any], str]] = [
    ({KEEP: [{"in": ["a"]}]}, "spec.keep[0]: a mapping is not exactly one of field and header; name one of them"),
    ({KEEP: [{"header": "a", "field": "b", "in": ["c"]}]}, "spec.keep[0]: a mapping is not exactly one of field and"),
    ({KEEP: [{"header": "a"}]}, "spec.keep[0]: a mapping asks for nothing; write one of in, notIn, atLeast"),
    ({KEEP: [{"header": "a", "orAbsent": True}]}, "spec.keep[0]: a mapping asks for nothing; write one of in"),
    ({KEEP: [{"header": "a", "in": ["b"], "absent": False}]}, "spec.keep[0].absent: false contradicts other operators"),
    ({KEEP: [{"header": "a", "absent": True, "orAbsent": True}]}, "spec.keep[0].absent: true contradicts other"),
    (
        {KEEP: [{"header": "a", "matches": "b"}]},
        "matches: cannot be compared: header a is text; write one of in, notIn",
    ),
    ({KEEP: [{"header": "a", "in": [5]}]}, f"{IN}5 cannot be compared: header a is text; put it in quotes"),
    ({KEEP: [{"header": "", "in": ["b"]}]}, 'spec.keep[0].header: "" is empty or has a control character'),
    ({KEEP: [{"header": "a", "in": []}]}, "spec.keep[0].in: has 0 entries; give at least 1"),
    ({KEEP: [{"header": "a", "like": "b"}]}, "spec.keep[0].like: is an unknown field"),
    ({KEEP: [on("a", is_in=["b"])]}, 'spec.keep[0].field: "a" cannot be compared: there is no spec.schema; declare'),
    (
        keeping(on("zz", is_in=["DE"])),
        'spec.keep[0].field: "zz" cannot be compared: spec.schema has no such field; name one that it has: co',
    ),
    (
        keeping(on("country.a", is_in=["DE"])),
        'spec.keep[0].field: "country.a" cannot be compared: spec.schema has no such field; name one that it ',
    ),
    (
        keeping(on("key.id", is_in=["DE"])),
        '"key.id" cannot be compared: spec.schema.key is missing, so that keys become',
    ),
    (
        keeping(on("tags.a", is_in=["DE"])),
        'spec.keep[0].field: "tags.a" cannot be compared: spec.schema has no such field; name one that it has',
    ),
    (keeping(on("a b", is_in=["DE"])), 'spec.keep[0].field: "a b" is not the path of a field'),
    (keeping(on("country", is_in=[False])), f"{IN}false cannot be compared: country is string; put it in quotes"),
    (keeping(on("country", is_in=[None])), f"{IN}null cannot be compared: it is no value; remove it; orAbsent: true"),
    (keeping(on("country", is_in=[["DE"]])), f"{IN}a list cannot be compared: country is string; put it in quotes"),
    (keeping(on("country", atLeast="DE")), f"{LEAST}cannot be compared: country is string; write one of in, notIn, ma"),
    (keeping(on("country", matches="(a")), 'matches: "(a" is not a pattern: it has a ( without a ) at character 1'),
    (keeping(on("country", matches="a\nb")), 'spec.keep[0].matches: "a\\nb" is empty or has a line break'),
    (keeping(on("country", matches="(?:a{100}){11}")), "has more than 1,000 characters and classes, repeated ones"),
    (keeping(on("tags", is_in=["a"])), "cannot be compared: tags is list<string>; only absent is for fields of this"),
    (keeping(on("of.raw", is_in=["a"])), "cannot be compared: of.raw is json; only absent is for fields of this type"),
    (keeping(on("of.n", matches="a")), "cannot be compared: of.n is int8; write one of in, notIn, atLeast, atMost, be"),
    (
        keeping(on("of.n", is_in=["1"])),
        f'{IN}"1" cannot be compared: of.n is int8; write a whole number without quotes',
    ),
    (keeping(on("of.n", is_in=[True])), f"{IN}true cannot be compared: of.n is int8; write a whole number without"),
    (keeping(on("of.n", is_in=[1.5])), f"{IN}1.5 cannot be compared: of.n is int8; write a whole number without"),
    (keeping(on("of.n", atLeast=128)), f"{LEAST}128 cannot be compared: of.n is int8, which has no such number; write"),
    (keeping(on("of.f", is_in=[1.5])), "in: cannot be compared: of.f is float32; write one of atLeast, atMost, below"),
    (keeping(on("of.f", atLeast="1")), f'{LEAST}"1" cannot be compared: of.f is float32; write a number without quot'),
    (keeping(on("of.f", atLeast=1e39)), f"{LEAST}1e+39 cannot be compared: of.f is float32, which has no such number"),
    (keeping(on("of.d", is_in=[1.005])), "of.d is decimal(5,2), which has no such number; write one with at most 2 di"),
    (keeping(on("of.d", is_in=[1000])), f"{IN}1000 cannot be compared: of.d is decimal(5,2), which has no such number"),
    (keeping(on("of.d", is_in=["1e3"])), f'{IN}"1e3" cannot be compared: of.d is decimal(5,2); write a number, or in'),
    (keeping(on("of.b", is_in=["true"])), f'{IN}"true" cannot be compared: of.b is bool; write true or false'),
    (keeping(on("of.b", below=True)), "below: cannot be compared: of.b is bool; write one of in, notIn, absent"),
    (keeping(on("of.day", is_in=["2026-02-30"])), "of.day is date, and there is no such day; correct the date"),
    (keeping(on("of.day", is_in=["20261121"])), 'of.day is date; write for example "2026-11-21"'),
    (keeping(on("of.t", is_in=["24:00:00"])), 'of.t is time[ms]; write for example "05:00:00"'),
    (keeping(on("of.t", is_in=["05:00:00.0005"])), "of.t is time[ms]; write a time without a part that is finer than"),
    (keeping(on("at", atLeast="2026-11-21")), 'at is timestamp[ms]; write for example "2026-11-21T05:00:00Z"'),
    (keeping(on("at", atLeast=5)), f'{LEAST}5 cannot be compared: at is timestamp[ms]; write for example "2026-11-21T'),
    (keeping(on("at", atLeast="2026-02-30T05:00:00Z")), "at is timestamp[ms], and there is no such time; correct it"),
    (keeping(on("at", atLeast="0001-01-01T00:00:00+01:00")), "at is timestamp[ms], which has no such time; write one"),
    (keeping(on("fine", atLeast="2500-01-01T00:00:00Z")), "fine is timestamp[ns], which has no such time; write one o"),
    (keeping(on("sent", atLeast=1_500)), f"{LEAST}1500 cannot be compared: sent is timestamp[s]; write a time without"),
    (keeping(on("sent", atLeast="x")), 'write for example "2026-11-21T05:00:00Z", or a whole number as epoch[ms] has'),
    (
        keeping(drop=("sent",)),
        'spec.schema.drop[0]: "sent" is a column of fields, and no condition of spec.keep is about it; remove',
    ),
    (
        keeping(on("country", is_in=["x"])) | {OF: [{"topics": ["clicks"], "parser": {"type": "bytes"}}]},
        "spec.overrides[0]: does not go together with spec.keep[0].field, which then cannot be compared",
    ),
    (
        keeping() | {OF: [{"topics": ["clicks"], "keep": [on("a", is_in=["x"])]}]},
        'spec.overrides[0].keep[0].field: "a" cannot be compared: spec.schema has no such field',
    ),
    (
        in_types()
        | {KEEP: [on("id", atLeast=5)]}
        | {"spec.parser": {"type": "json"}, "spec.schema": {"fields": [{"name": "id", "type": "int8"}]}},
        "spec.keep: names a field, but beside spec.types each type has columns of its own; name headers here",
    ),
    (in_types(on("a", is_in=[5])), 'spec.types.entries[0].keep[0].field: "a" cannot be compared: spec.schema has no'),
    (
        {
            "spec.types": {
                "header": "h",
                "entries": [{"names": ["a"], "action": "drop", "keep": [{"header": "b", "in": ["c"]}]}],
            }
        },
        'spec.types.entries[0].action: "drop" has a parser, a schema, an output, a folder or conditions, but',
    ),
]
