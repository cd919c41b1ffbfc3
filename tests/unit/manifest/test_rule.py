"""Rules of the manifest: how they are declared, what they say, and what of them the API server is told."""

import typing
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel

from logpersister.forms.constraint import Duration, Model, Size, Text, Unique, Whole
from logpersister.forms.nulls import NullMisleads
from logpersister.forms.problems import Finding
from logpersister.forms.rule import change_rule, exactly_one, refuses, rules_of, validations_of
from logpersister.forms.shares import Percent, SomeOf
from logpersister.manifest import LogPersister
from logpersister.values.defaults import OneValue
from logpersister.values.registry import VersionOfSubject


def models(model: type[BaseModel] = LogPersister) -> Iterator[type[BaseModel]]:
    """Yield every part of the manifest."""
    yield model
    for field in model.model_fields.values():
        for below in _models_in(field.annotation):
            yield from models(below)


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in typing.get_args(annotation):
        yield from _models_in(argument)


MODELS = list(dict.fromkeys(models()))


def constraints(annotation: Any) -> Iterator[Any]:
    """Yield what is attached to a type and to the types in it."""
    yield from getattr(annotation, "__metadata__", ())
    for argument in typing.get_args(annotation):
        yield from constraints(argument)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_nothing_is_validated_but_by_rules_and_known_constraints(model: type[BaseModel]) -> None:
    declared = model.__pydantic_decorators__
    assert set(declared.model_validators) == {"_rules_hold"}, "declare it as a rule"
    assert not declared.field_validators
    assert not declared.validators
    assert not declared.root_validators
    for name, hint in typing.get_type_hints(model, include_extras=True).items():
        if name not in model.model_fields:
            continue
        for constraint in constraints(hint):
            known = isinstance(
                constraint,
                Text
                | Size
                | Duration
                | Whole
                | Unique
                | Percent
                | SomeOf
                | VersionOfSubject
                | OneValue
                # drops nulls before anything can see them:
                | NullMisleads,
            )
            module = type(constraint).__module__
            assert known or module == "pydantic.fields" or "WithJsonSchema" in type(constraint).__name__, (
                f"{model.__name__}.{name}: the API server does not know {constraint}"
            )


class Part(Model):
    word: str | None = None
    number: int = 5
    flag: bool = False

    _one = exactly_one("word", "flag")

    @refuses
    def _odd(self) -> Iterator[Finding]:
        if self.number % 2 == 0:
            yield Finding("is even", "make it odd", ("number",))

    @change_rule("self.number >= oldSelf.number", "falls", "raise it", "number")
    def _grows(self, before: "Part") -> bool:
        return self.number >= before.number


def test_what_is_wrong_quotes_what_stands_there() -> None:
    _, odd, grows = rules_of(Part)
    part = Part.model_construct(number=4)
    assert list(odd.findings(part)) == [Finding("is even", "make it odd", ("number",), "4")]
    assert list(grows.findings(part, Part.model_construct(number=5))) == [
        Finding("falls", "raise it", ("number",), "4")
    ]
    assert list(grows.findings(part, part)) == []


@pytest.mark.parametrize(
    ("part", "told"),
    [({"word": "a"}, None), ({"flag": True}, None), ({}, ""), ({"word": "a", "flag": True}, ", and has word and flag")],
)
def test_exactly_one(part: dict[str, Any], told: str | None) -> None:
    one, *_ = rules_of(Part)
    found = [finding.expectation for finding in one.findings(Part.model_construct(**part))]
    assert found == ([] if told is None else [f"needs exactly one of word and flag{told}"])


def test_what_the_api_server_is_told() -> None:
    count = "[has(self.word), has(self.flag)].filter(one, one).size() == 1"
    assert validations_of(Part) == [
        {"rule": count, "message": "needs exactly one of word and flag; write one of them"},
        {"rule": "self.number >= oldSelf.number", "message": "falls; raise it", "fieldPath": ".number"},
    ]
