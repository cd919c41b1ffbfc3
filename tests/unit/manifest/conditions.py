"""What the rules of ``spec.keep`` accept and refuse; `test_rules` and the API server judge it."""

from typing import Any

from tests.unit.manifest.documents import at

KEEP, OF = "spec.keep", "spec.overrides"
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
    value = {"json": {"fields": list(COMPARED)}} | ({"drop": list(drop)} if drop else {})
    quarantine = {"keepValue": True}
    return {"spec.value": value, "spec.quarantine": quarantine, "spec.output": {"parquet": {}}, KEEP: list(conditions)}


def on(field: str, **operators: Any) -> dict[str, Any]:
    """Return a condition on a field; ``is_in`` is ``in``."""
    return {"field": field} | {{"is_in": "in"}.get(name, name): value for name, value in operators.items()}


def keyed(kind: str, **block: Any) -> dict[str, Any]:
    return keeping() | {"spec.key": {kind: block}}


BY_REGISTRY: dict[str, Any] = {"spec.value": {"avro": {"registry": {"url": "http://registry:8081"}}}}


def in_types(*keep: dict[str, Any], **entry: Any) -> dict[str, Any]:
    """Return changes with conditions on the records of a type."""
    value = {"json": {"fields": [{"name": "id", "type": "int8"}]}}
    entries = [{"names": ["a"], "value": value, "output": {"jsonl": {}}, **entry, "keep": list(keep)}]
    return {"spec.types": {"header": "h", "entries": entries}}


def requiring(field: str = "id", type_: str = "string", *, required: bool = True, **parquet: Any) -> dict[str, Any]:
    """Return changes with a condition that asks for records without a field."""
    fields = [{"name": "id", "type": type_, "required": required}]
    value = {"json": {"fields": fields}}
    return keeping(on(field, absent=True)) | {"spec.value": value, "spec.output": {"parquet": parquet}}


ACCEPTED_CONDITIONS: list[dict[str, Any]] = [
    keeping(
        on("of.n", atLeast=5, atMost=5), on("of.n", atLeast=5, below=6), on("country", is_in=["a", "b"], notIn=["b"])
    ),
    requiring(required=False),
    requiring("id.n", "struct<n: int8>"),
    keeping(on("country", is_in=["DE", "FR"], matches="^D"), on("tags", absent=True), on("of", absent=False)),
    keeping(on("of.n", is_in=[1, 2.0], atLeast=-128, atMost=127, below=5), on("of.b", is_in=[False], orAbsent=True)),
    keeping(on("of.f", atLeast=1, below=2.5), on("of.d", is_in=[1, 1.5, "0.10", "-999.99"], below="1.0")),
    keeping(on("of.day", is_in=["2026-11-21"], below="9999-12-31"), on("of.t", atLeast="00:00:00", below="23:59:59.5")),
    keeping(on("at", atLeast="2026-11-21T05:00:00Z", below="2026-11-21 06:00:00.123+01:00")),
    keeping(on("sent", atLeast=1_795_237_200_000, below="2026-11-21T06:00:00"), drop=("sent",)),
    keeping(on("country", matches="(?:a{10}){100}")),
    {KEEP: [{"header": "env", "in": ["prod"]}, {"header": "env", "absent": False}]},
    keeping(on("country", is_in=["x"])) | {OF: [{"topics": ["clicks"], "value": {"bytes": {}}, "keep": []}]},
    keeping() | {OF: [{"topics": ["clicks"], "keep": [on("country", notIn=["x"], orAbsent=True)]}]},
    BY_REGISTRY | {KEEP: [on("unknown.yet", is_in=["x"])]},
    keyed("text", type="int64") | {KEEP: [on("key", atLeast=5)]},
    keyed("json", fields=[{"name": "id", "type": "int64"}]) | {KEEP: [on("key.id", atLeast=5)]},
    in_types(on("id", atLeast=5), {"header": "env", "in": ["prod"]}) | {KEEP: [{"header": "env", "absent": False}]},
]

REFUSED_CONDITIONS: list[tuple[dict[str, Any], str]] = [
    *at("spec.keep[0]", {KEEP: [{"in": ["a"]}]}, {KEEP: [{"header": "a", "field": "b", "in": ["c"]}]}),
    *at("spec.keep[0]", {KEEP: [{"header": "a"}]}, {KEEP: [{"header": "a", "orAbsent": True}]}),
    ({KEEP: [{"header": "a", "in": ["b"], "absent": False}]}, "spec.keep[0].absent"),
    *at("spec.keep[0].matches", {KEEP: [{"header": "a", "matches": "b"}]}, keeping(on("country", matches="(a"))),
    *at("spec.keep[0].matches", keeping(on("country", matches="(?:a{100}){11}")), keeping(on("of.n", matches="a"))),
    *at("spec.keep[0].in[0]", {KEEP: [{"header": "a", "in": [5]}]}, keeping(on("country", is_in=[False]))),
    *at("spec.keep[0].in[0]", keeping(on("of.n", is_in=["1"])), keeping(on("of.n", is_in=[True]))),
    *at("spec.keep[0].in[0]", keeping(on("of.n", is_in=[1.5])), keeping(on("of.d", is_in=[1.005]))),
    *at("spec.keep[0].in[0]", keeping(on("of.b", is_in=["true"])), keeping(on("of.day", is_in=["2026-02-30"]))),
    *at("spec.keep[0].in", {KEEP: [{"header": "a", "in": []}]}, keeping(on("tags", is_in=["a"]))),
    *at("spec.keep[0].in", keeping(on("of.raw", is_in=["a"])), keeping(on("of.f", is_in=[1.5]))),
    ({KEEP: [{"header": "a", "like": "b"}]}, "spec.keep[0].like"),
    *at("spec.keep[0].field", {KEEP: [on("a", is_in=["b"])]}, keeping(on("zz", is_in=["DE"]))),
    *at("spec.keep[0].field", keeping(on("country.a", is_in=["DE"])), keeping(on("key.id", is_in=["DE"]))),
    *at("spec.keep[0].atLeast", keeping(on("country", atLeast="DE")), keeping(on("of.n", atLeast=128))),
    *at("spec.keep[0].atLeast", keeping(on("of.f", atLeast="1")), keeping(on("of.f", atLeast=1e39))),
    *at("spec.keep[0].atLeast", keeping(on("at", atLeast="2026-11-21")), keeping(on("at", atLeast=5))),
    (keeping(on("at", atLeast="2026-02-30T05:00:00Z")), "spec.keep[0].atLeast"),
    *at("spec.keep[0].in[0]", keeping(on("of.d", is_in=["1e3"])), keeping(on("of.day", is_in=["20261121"]))),
    (keeping(on("at", atLeast="0001-01-01T00:00:00+01:00")), "spec.keep[0].atLeast"),
    (keeping(on("fine", atLeast="2500-01-01T00:00:00Z")), "spec.keep[0].atLeast"),
    *at("spec.keep[0].atLeast", keeping(on("sent", atLeast=1_500)), keeping(on("sent", atLeast="x"))),
    (keeping(on("of.b", below=True)), "spec.keep[0].below"),
    (keeping(drop=("sent",)), "spec.value.drop[0]"),
    (keeping(on("country", is_in=["x"])) | {OF: [{"topics": ["clicks"], "value": {"bytes": {}}}]}, "spec.overrides[0]"),
    (keeping() | {OF: [{"topics": ["clicks"], "keep": [on("a", is_in=["x"])]}]}, "spec.overrides[0].keep[0].field"),
    (
        in_types()
        | {KEEP: [on("id", atLeast=5)]}
        | {"spec.value": {"json": {"fields": [{"name": "id", "type": "int8"}]}}},
        "spec.keep",
    ),
    (in_types(on("a", is_in=[5])), "spec.types.entries[0].keep[0].field"),
    (
        {
            "spec.types": {
                "header": "h",
                "entries": [{"names": ["a"], "action": "drop", "keep": [{"header": "b", "in": ["c"]}]}],
            }
        },
        "spec.types.entries[0].action",
    ),
]
