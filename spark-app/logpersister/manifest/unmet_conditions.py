"""Conditions that no record can fulfil, because what they ask for contradicts itself or the schema. Pure."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from logpersister.manifest.condition_values import TEXT, condition_findings, notation_at, operands
from logpersister.manifest.keep import Condition, Operator
from logpersister.manifest.problems import Finding, show
from logpersister.manifest.row_schema import SchemaSpec
from logpersister.manifest.types import Member, Struct, Type

UNMET: Final = "cannot hold"
"""How every refusal begins."""
_UPPER: Final[Sequence[Operator]] = ("atMost", "below")


def unmet_findings(condition: Condition, schema: SchemaSpec | None, *, stores_tombstones: bool) -> Iterator[Finding]:
    """Yield what of a condition no record can fulfil; nothing where it is wrong in other ways.

    `stores_tombstones`: whether there are rows in which each field of the value is null.
    """
    if any(condition_findings(condition, schema)):
        return
    path: Sequence[Member] = ()
    type_: Type = TEXT
    notation = ""
    if condition.field is not None and schema is not None:
        path = _members(schema.as_parsed.columns, condition.field)
        type_, notation = path[-1].type, notation_at(schema, condition.field)
    if condition.absent and path and not stores_tombstones and all(one.required for one in path):
        told = f"{UNMET}: {condition.field} is required in spec.schema, so no stored record is without it"
        yield Finding(told, "remove the condition, or required of the field", ("absent",), "true")
    values = operands(condition, type_, notation)
    if "in" in values and set(values["in"]) <= set(values.get("notIn", ())):
        told = f"{UNMET} together with in, of which it has each value"
        yield Finding(told, "remove one of the two, or correct it", ("notIn",))
    least = condition.operands.get("atLeast", ())
    for operator in _UPPER:
        if operator in values and "atLeast" in values and _none_between(values["atLeast"][0], values, operator):
            told = f"{UNMET} together with atLeast {show(least[0])}: no value is between them"
            yield Finding(told, "correct one of them", (operator,), show(condition.operands[operator][0]))


def _none_between(least: Any, values: Any, operator: Operator) -> bool:
    upper = values[operator][0]
    return bool(least >= upper if operator == "below" else least > upper)


def _members(columns: Sequence[Member], path: str) -> Sequence[Member]:
    """Return the column, and what is in it, on the way to a field that is there."""
    found: list[Member] = []
    for name in path.split("."):
        one = next(one for one in columns if one.name == name)
        found.append(one)
        columns = one.type.members if isinstance(one.type, Struct) else ()
    return found
