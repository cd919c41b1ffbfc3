"""Rows of a schema made once more, value by value in plain Python; no code of the native parser is in it.

docs/schemas.md says what is a row.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from logpersister.schemas.types import ListOf, MapOf, Member, Plain, Struct, Type
from logpersister.values.faults import REFUSED, FaultsSpec
from logpersister.values.parser import Framing
from logpersister.values.row_schema import RowSchema
from tests.judges import headers
from tests.judges.faults import Faults, is_plain_scalar, unique
from tests.judges.growth import Budget, width
from tests.judges.json_text import Node, tree_of
from tests.judges.json_values import Reading, document_of, plain_value
from tests.judges.refusal import RefusalError
from tests.judges.text_values import text_value

Row = Mapping[str, Any]
ReadingOf = Callable[[str], Reading]
"""Returns what holds for everything in a field of a struct."""


@dataclass(frozen=True)
class RowOracle:
    """A parser of values that are JSON objects, as `values.reading.parsers` has them, once more."""

    schema: RowSchema
    unknown_fields: str
    faults: FaultsSpec = REFUSED
    framing: Framing = "plain"

    def row(self, value: bytes) -> Row:
        _, text = headers.split(value, self.framing)
        tree = document_of(text, replaces_invalid=self.faults.invalid_utf8 == "replace")
        return self.row_of(tree, Budget(len(text)))

    def row_of(self, tree: Node, budget: Budget | None = None) -> Row:
        """Return the row of a document; None as `budget`: any. Raises `RefusalError`."""
        if tree.kind != "object":
            raise RefusalError("not_an_object")
        rest = self.schema.rest
        conversion = _Conversion(budget, Faults(self.faults), self.unknown_fields)
        row = conversion.struct(tree, self._members, self._readings.__getitem__, is_row=True)
        return row if rest is None else {**row, rest.name: conversion.rest}

    @cached_property
    def _members(self) -> tuple[Member, ...]:
        rest = self.schema.rest
        kept = (one for one in self.schema.columns if one != rest)
        return tuple(Member(one.name, one.type, one.required, one.default) for one in kept)

    @cached_property
    def _readings(self) -> Mapping[str, Reading]:
        return {one.name: Reading(one.format or "rfc3339") for one in self.schema.columns}


class _Conversion:
    """One value on its way into columns."""

    def __init__(self, budget: Budget | None, faults: Faults, unknown_fields: str) -> None:
        self._budget = budget
        self._faults = faults
        self._unknown = unknown_fields
        self.rest: str | None = None
        """What the row does not name, if that is kept."""

    def struct(
        self, node: Node, members: Sequence[Member], reading: ReadingOf, *, is_row: bool = False
    ) -> dict[str, Any]:
        known = {member.name: member for member in members}
        found: dict[str, Any] = {}
        unknown: list[str] = []
        for name, value in self._members(node, known):
            member = known.get(name)
            if member is None:
                if self._unknown == "refuse":
                    raise RefusalError("unknown_field")
                unknown.append(name)
            elif name in found:
                raise RefusalError("duplicate", name)
            else:
                found[name] = self._item(value, member.type, reading(name), name, required=member.required)
        if self._unknown == "keep" and len(set(unknown)) < len(unknown):
            raise RefusalError("duplicate")
        if is_row and self._unknown == "keep":
            self.rest = self._rest_of(node, Struct(tuple(members)))
            if self._budget is not None:
                self._budget.take_rest(self.rest)
        for member in members:
            if member.name not in found:
                found[member.name] = self._absent(member, reading, with_default=is_row)
        return {member.name: found[member.name] for member in members}

    def _members(self, node: Node, known: Mapping[str, Member]) -> Sequence[tuple[str, Node]]:
        """Return the members of an object that count."""
        names = [name if name in known or self._unknown == "keep" else None for name, _ in node.members]
        return unique(node.members, names, self._faults.duplicates)

    @staticmethod
    def _absent(member: Member, reading: ReadingOf, *, with_default: bool) -> Any:
        if with_default and member.default is not None:
            return plain_value(tree_of(member.default), member.type, reading(member.name))
        if member.required:
            raise RefusalError("missing", member.name)
        return None

    def _inside(self, node: Node, type_: Type, reading: Reading, step: str, *, required: bool) -> Any:
        if self._budget is not None:
            self._budget.take(width(type_), step)
        return self._item(node, type_, reading, step, required=required)

    def _item(self, node: Node, type_: Type, reading: Reading, step: str, *, required: bool) -> Any:
        return self._faults.inside(
            step,
            lambda: self._value(node, type_, reading),
            lambda: _converted(node, type_, reading),
            is_null=node.kind == "word" and node.text == "null",
            required=required,
        )

    def _value(self, node: Node, type_: Type, reading: Reading) -> Any:
        match type_:
            case Struct(members) if node.kind == "object":
                return self.struct(node, members, lambda _: reading)
            case ListOf(item, required) if node.kind == "array":
                return [self._inside(one, item, reading, "[]", required=required) for _, one in node.members]
            case MapOf(value, required) if node.kind == "object":
                pairs = unique(node.members, [name for name, _ in node.members], self._faults.duplicates)
                entries = [(key, self._inside(one, value, reading, "{}", required=required)) for key, one in pairs]
                if len({key for key, _ in entries}) < len(entries):
                    raise RefusalError("duplicate", "{}")
                return entries
        return plain_value(node, type_, reading)

    def _rest_of(self, node: Node, type_: Type) -> str | None:
        """Return what is in a value that its type does not name, as a JSON object; None: nothing is."""
        match type_:
            case Struct(members) if node.kind == "object":
                known = {one.name: one for one in members}
                return _joined(
                    (_written_name(value), self._rest_of(value, known[name].type) if name in known else value.text)
                    for name, value in self._members(node, known)
                )
            case ListOf(item) if node.kind == "array":
                items = (self._rest_of(one, item) for _, one in node.members)
                return _joined((f'"{index}"', inside) for index, inside in enumerate(items))
            case MapOf(value) if node.kind == "object":
                pairs = unique(node.members, [name for name, _ in node.members], self._faults.duplicates)
                return _joined((_written_name(one), self._rest_of(one, value)) for _, one in pairs)
        return None


def _written_name(value: Node) -> str:
    """Return the name of a member as it was written."""
    return value.tokens[value.begin - 2]


def _converted(node: Node, type_: Type, reading: Reading) -> Any:
    """Return what a value of another kind becomes. Raises `RefusalError`."""
    if node.kind == "string" and is_plain_scalar(type_):
        return text_value(node.string, type_, reading)
    if type_ == Plain("string") and node.kind in ("number", "word"):
        return node.text
    raise RefusalError("wrong_type")


def _joined(members: Iterable[tuple[str, str | None]]) -> str | None:
    """Return an object of names in quotes and texts; None for those that have none, and if it would have no members."""
    found = [f"{name}:{text}" for name, text in members if text is not None]
    return f"{{{','.join(found)}}}" if found else None
