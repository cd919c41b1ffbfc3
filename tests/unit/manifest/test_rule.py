"""Rules: every one is declared where both halves stand, and says the same in Python and in CEL."""

import re
import typing
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel

from logpersister.manifest import LogPersister
from logpersister.manifest.constraint import Condition, Duration, Model, Size, Text, Unique, Whole
from logpersister.manifest.defaults import OneValue
from logpersister.manifest.nulls import NullMisleads
from logpersister.manifest.problems import Finding
from logpersister.manifest.registry import VersionOfSubject
from logpersister.manifest.rule import NotInCel, Rule, cel_literal, expand, rule, rules_of
from logpersister.manifest.shares import Percent, SomeOf


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
def test_nothing_is_validated_but_by_what_the_api_server_has_too(model: type[BaseModel]) -> None:
    declared = model.__pydantic_decorators__
    assert set(declared.model_validators) == {"_rules_hold"}, "declare it as a rule, with its CEL"
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


def expectations_not_in_cel() -> Iterator[str]:
    """Yield what rules and conditions say that have no half in CEL."""
    for model in MODELS:
        for one in rules_of(model):
            if isinstance(one.cel, NotInCel):
                yield one.finding.expectation
        for hint in typing.get_type_hints(model, include_extras=True).values():
            for text in constraints(hint):
                for condition in text.conditions if isinstance(text, Text) else ():
                    if isinstance(condition.cel, NotInCel):
                        yield condition.expectation


class Part(Model):
    size: typing.Annotated[int, Size("1", "1Gi")] = 2048
    flag: typing.Annotated[bool, "plain"] = True
    word: str = "it's"
    unset: str | None = None


class Whole_(Model):  # noqa: N801
    part: Part = Part()
    word: str = "a"

    @rule("$word != $part.word", "is {word}, twice", "change {word}", "word")
    def _differ(self) -> bool:
        return self.word != self.part.word

    @rule(NotInCel("a test"), "is odd", "make it even")
    def _even(self) -> list[Finding]:
        return [] if len(self.word) % 2 else [Finding("is even", "make it odd", ("word",))]


@pytest.mark.parametrize(
    ("cel", "expected"),
    [
        ("$word", "(has(self.word) ? self.word : 'a')"),
        ("$part.size", "(has(self.part) && has(self.part.size) ? self.part.size : '2Ki')"),
        ("$part.flag", "(has(self.part) && has(self.part.flag) ? self.part.flag : true)"),
        ("$before.word", "(has(oldSelf.word) ? oldSelf.word : 'a')"),
        ("$word.startsWith('$')", "(has(self.word) ? self.word : 'a').startsWith('$')"),
        ("self.word", "self.word"),
    ],
)
def test_a_field_or_its_default(cel: str, expected: str) -> None:
    assert expand(cel, Whole_) == expected


@pytest.mark.parametrize("cel", ["$part.unset", "$part.size.unit"])
def test_a_default_must_be_known(cel: str) -> None:
    with pytest.raises((ValueError, StopIteration)):
        expand(cel, Whole_)


def test_both_halves_say_the_same() -> None:
    first, second = rules_of(Whole_)
    assert list(first.findings(Whole_())) == []
    wrong = Whole_.model_construct(word="it's", part=Part())
    assert list(first.findings(wrong)) == [Finding("is it's, twice", "change it's", ("word",), '"it\'s"')]
    entry = first.validation(Whole_)
    assert entry is not None
    assert entry["fieldPath"] == ".word"
    assert entry["message"] == "is word, twice; change word"
    assert entry["messageExpression"] == (
        "'is ' + (has(self.word) ? self.word : 'a') + ', twice; change ' + (has(self.word) ? self.word : 'a') + ''"
    )
    assert second.validation(Whole_) is None
    assert [finding.expectation for finding in second.findings(wrong)] == ["is even"]


def test_a_rule_of_every_model_has_its_message() -> None:
    for model in MODELS:
        for declared in rules_of(model):
            assert isinstance(declared, Rule)
            assert declared.finding.remedy
            placeholders = re.findall(r"\{(\w+)\}", declared.finding.expectation + declared.finding.remedy)
            assert set(placeholders) <= {field.alias for field in model.model_fields.values()}


@pytest.mark.parametrize(
    ("value", "cel"),
    [
        (True, "true"),
        (5, "5"),
        ("a'b\\c\nd", r"'a\'b\\c\nd'"),
        ({"b", "a"}, "['a', 'b']"),
        ({"a": ("x", "y")}, "{'a': ['x', 'y']}"),
    ],
)
def test_literals(value: Any, cel: str) -> None:
    assert cel_literal(value) == cel


def test_a_condition_has_its_reason() -> None:
    condition = Condition(NotInCel("a test"), bool, "is empty", "fill it")
    assert condition.validation() is None
