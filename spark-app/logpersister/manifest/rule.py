"""Validation rules of the manifest, each in one place: in CEL for the API server, in Python for everything else.

The CEL stands in the CRD as ``x-kubernetes-validations``; the tests ask a real API server and this model about the same
documents and want the same answer. What CEL cannot say is a rule all the same, with `NotInCel` and the reason.

In CEL a field that is not set is not there: the CRD has no defaults. ``$upload.maxBytes`` in a rule is the field or the
default that the model gives it; ``$before.generation`` is the same of the resource before a change.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from logpersister.manifest.problems import Finding, PathStep, show

VALIDATIONS = "x-kubernetes-validations"
_FIELD = re.compile(r"\$(before\.)?([a-z][A-Za-z]*(?:\.[a-z][A-Za-z]*\b(?!\())*)")
_PLACEHOLDER = re.compile(r"\{([a-zA-Z]+)\}")


@dataclass(frozen=True, slots=True)
class NotInCel:
    """Reason, instead of an expression, why the API server cannot check a rule, so that the operator has to."""

    reason: str


Verdict = bool | Sequence[Finding]
"""Whether a rule holds; or what is wrong, nothing if it holds."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule between the fields of a model, or (``is_change``) between two versions of it."""

    cel: str | NotInCel
    finding: Finding
    """What to say when it does not hold; ``{protocol}`` in it is the text of that field."""
    holds: Callable[..., Verdict]
    is_change: bool

    def findings(self, *versions: BaseModel) -> Iterator[Finding]:
        """Yield what is wrong with a model, or with a model and the one that was there before."""
        verdict = self.holds(*versions)
        if isinstance(verdict, bool):
            if not verdict:
                yield _filled_in(self.finding, versions[0])
        else:
            yield from verdict

    def validation(self, model: type[BaseModel]) -> dict[str, str] | None:
        """Return the entry of ``x-kubernetes-validations``; none for what CEL cannot say."""
        if isinstance(self.cel, NotInCel):
            return None
        text = f"{self.finding.expectation}; {self.finding.remedy}"
        entry = {"rule": expand(self.cel, model), "message": _PLACEHOLDER.sub(r"\1", text)}
        if _PLACEHOLDER.search(text):
            expression = _PLACEHOLDER.sub(lambda found: f"' + ${found[1]} + '", text.replace("'", "\\'"))
            entry["messageExpression"] = expand(f"'{expression}'", model)
        if self.finding.at:
            entry["fieldPath"] = "".join(f".{step}" for step in self.finding.at)
        if self.finding.expectation.startswith("is missing"):
            entry["reason"] = "FieldValueRequired"
        return entry


def rule(cel: str | NotInCel, expectation: str, remedy: str, *at: PathStep) -> Callable[[Callable[..., Verdict]], Rule]:
    """Make a method the Python half of a rule; it returns whether the rule holds (or findings of its own).

    Args:
        cel: the other half: an expression of ``self`` that is true when the rule holds.
        expectation: what is wrong when it does not (problems.py).
        remedy: what to do then.
        at: the field below the model that it is about.
    """
    return lambda method: Rule(cel, Finding(expectation, remedy, at), method, is_change=False)


def change_rule(cel: str, expectation: str, remedy: str, *at: PathStep) -> Callable[[Callable[..., Verdict]], Rule]:
    """Make a method of two versions, new and old, the Python half of a rule on changes; see `rule`."""
    return lambda method: Rule(cel, Finding(expectation, remedy, at), method, is_change=True)


@cache
def rules_of(model: type[BaseModel]) -> tuple[Rule, ...]:
    """Return the rules that a model declares, in its order."""
    members = (value for base in reversed(model.__mro__) for value in vars(base).values())
    return tuple(value for value in members if isinstance(value, Rule))


def validations_of(model: type[BaseModel]) -> list[dict[str, str]]:
    """Return the ``x-kubernetes-validations`` of a model."""
    found = (declared.validation(model) for declared in rules_of(model))
    return [entry for entry in found if entry is not None]


def expand(cel: str, model: type[BaseModel]) -> str:
    """Return an expression with ``$field`` written out: the field, or its default when it is not set."""

    def field(found: re.Match[str]) -> str:
        steps = found[2].split(".")
        path = "oldSelf" if found[1] else "self"
        there = []
        for step in steps:
            path += f".{step}"
            there.append(f"has({path})")
        # The API server estimates costs by the longest text, which it does not know of an optional's orValue.
        return f"({' && '.join(there)} ? {path} : {_default(model, steps)})"

    return _FIELD.sub(field, cel)


def _default(model: type[BaseModel], steps: Sequence[str]) -> str:
    """Return the default of a field as CEL; raise `ValueError` if it is not the same in every resource."""
    first, *rest = steps
    name, field = next((name, field) for name, field in model.model_fields.items() if field.alias == first)
    if rest:
        return _default(_model_in(field), rest)
    if field.is_required() or field.default_factory is not None or field.default is None:
        raise ValueError(f"{model.__name__}.{name} has no default that a rule could name")
    example = model.model_construct(**{name: field.default})
    value = example.model_dump(mode="json", by_alias=True, include={name}, warnings=False)[first]
    return cel_literal(value)


def _model_in(field: FieldInfo) -> type[BaseModel]:
    candidates = [field.annotation, *get_args(field.annotation)]
    return next(found for found in candidates if isinstance(found, type) and issubclass(found, BaseModel))


def cel_literal(value: Any) -> str:
    """Return a JSON value as CEL."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\r", "\\r")
        return f"'{escaped}'"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{cel_literal(key)}: {cel_literal(entry)}" for key, entry in value.items()) + "}"
    if isinstance(value, list | tuple | set | frozenset):
        entries = sorted(value) if isinstance(value, set | frozenset) else value
        return "[" + ", ".join(cel_literal(entry) for entry in entries) + "]"
    return str(value)


def _filled_in(finding: Finding, model: BaseModel) -> Finding:
    values = model.model_dump(mode="json", by_alias=True)
    expectation, remedy = (
        _PLACEHOLDER.sub(lambda found: str(values[found[1]]), text) for text in (finding.expectation, finding.remedy)
    )
    return Finding(expectation, remedy, finding.at, _quoted(values, finding.at))


def _quoted(values: Any, at: Sequence[PathStep]) -> str | None:
    """Return what stands at a path as a message may quote it; none when nothing does."""
    for step in at:
        values = values.get(step) if isinstance(values, dict) else None
    return show(values, at) if isinstance(values, str | int) else None
