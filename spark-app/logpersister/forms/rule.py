"""Validation rules of the manifest.

The API server knows the bounds of single fields, that exactly one kind of a union is set, and what may not change
between two versions: the definition has these as ``x-kubernetes-validations`` in CEL. Rules between fields are Python
only; the operator shows what they refuse on the resource, `logpersister check` before that.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from pydantic import BaseModel

from logpersister.forms.problems import Finding, PathStep, show

VALIDATIONS = "x-kubernetes-validations"


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule between the fields of a model, or (``is_change``) between two versions of it."""

    judge: Callable[..., Iterable[Finding]]
    """Returns what is wrong."""
    validation: Mapping[str, str] | None = None
    """Entry of ``x-kubernetes-validations`` for the API server; None: it does not check the rule."""
    is_change: bool = False

    def findings(self, *versions: BaseModel) -> Iterator[Finding]:
        """Yield what is wrong with a model, or with a model and the one that was there before."""
        for one in self.judge(*versions):
            is_quoted = one.found is not None or not one.at
            yield one if is_quoted else replace(one, found=_quoted(versions[0], one.at))


def refuses(method: Callable[[Any], Iterable[Finding]]) -> Rule:
    """Make a method of a model, which returns what is wrong, one of its rules."""
    return Rule(method)


def exactly_one(*names: str, optional: bool = False) -> Rule:
    """Return the rule of a model of which exactly one of some fields is set, as YAML has them.

    Args:
        names: of the fields.
        optional: whether none may be set, too.
    """
    listed, at_most = f"{', '.join(names[:-1])} and {names[-1]}", "at most" if optional else "exactly"
    expectation, remedy = f"needs {at_most} one of {listed}", "write one of them"

    def judge(model: BaseModel) -> Iterator[Finding]:
        fields = {field.alias: getattr(model, name) for name, field in type(model).model_fields.items()}
        named = [name for name in names if fields[name] not in (None, False)]
        if len(named) > 1 or not (named or optional):
            told = f", and has {' and '.join(named)}" if named else ""
            yield Finding(f"{expectation}{told}", remedy)

    count = f"[{', '.join(f'has(self.{name})' for name in names)}].filter(one, one).size()"
    return Rule(judge, {"rule": f"{count} {'<=' if optional else '=='} 1", "message": f"{expectation}; {remedy}"})


def change_rule(cel: str, expectation: str, remedy: str, *at: PathStep) -> Callable[[Callable[..., bool]], Rule]:
    """Make a method of two versions, new and old, a rule on changes; it returns whether the change may be.

    Args:
        cel: the same for the API server, an expression of ``self`` and ``oldSelf``.
        expectation: what is wrong when it may not (problems.py).
        remedy: what to do then.
        at: the field below the model that it is about.
    """
    finding = Finding(expectation, remedy, at)
    validation = {"rule": cel, "message": f"{expectation}; {remedy}", "fieldPath": "".join(f".{step}" for step in at)}
    return lambda method: Rule(
        lambda model, before: () if method(model, before) else (finding,), validation, is_change=True
    )


def unchanged(name: str, *, optional: bool = False) -> Rule:
    """Return the rule of a model of which a field, as YAML has it, stays as it was when the resource was made.

    Args:
        name: of the field.
        optional: whether it may be missing.
    """

    def stays(model: BaseModel, before: BaseModel) -> bool:
        old, new = (one.model_dump(mode="json", by_alias=True)[name] for one in (before, model))
        return bool(old == new)

    same = f"self.{name} == oldSelf.{name}"
    there = f"has(self.{name}) == has(oldSelf.{name}) && (!has(self.{name}) || {same})"
    rule = change_rule(there if optional else same, "cannot be changed", "create another resource", name)
    return rule(stays)


@cache
def rules_of(model: type[BaseModel]) -> tuple[Rule, ...]:
    """Return the rules that a model declares, in its order."""
    members = (value for base in reversed(model.__mro__) for value in vars(base).values())
    return tuple(value for value in members if isinstance(value, Rule))


def validations_of(model: type[BaseModel]) -> list[dict[str, str]]:
    """Return the ``x-kubernetes-validations`` of a model."""
    return [dict(one.validation) for one in rules_of(model) if one.validation is not None]


def cel_literal(text: str) -> str:
    """Return a text as CEL."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\r", "\\r")
    return f"'{escaped}'"


def _quoted(model: BaseModel, at: Sequence[PathStep]) -> str | None:
    """Return what stands at a path as a message may quote it; None when nothing does."""
    values: Any = model.model_dump(mode="json", by_alias=True, warnings=False)
    for step in at:
        if isinstance(step, int):
            values = values[step] if isinstance(values, list) and step < len(values) else None
        else:
            values = values.get(step) if isinstance(values, dict) else None
    return show(values, at) if isinstance(values, str | int) else None
