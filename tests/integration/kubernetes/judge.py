"""The same document before the API server and before the manifest's model."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

from pydantic import BaseModel

from logpersister.forms.constraint import Check, Text
from logpersister.forms.problems import Finding, RefusedError
from logpersister.forms.rule import Rule
from logpersister.manifest import ManifestError, Problem, parse
from tests.stack.kubernetes import Client, Refused
from tests.stack.kubernetes.client import Cause

COLLECTION = "/apis/logpersister.dev/v1alpha1/namespaces/{}/logpersisters"

_ELSEWHERE = re.compile(
    r"spec\.(overrides|types\.entries)\[[0-9]+\]\.(value|key|quarantine|output|keep)\b"
    r"|spec\.(value|key|output)\b.*: .*(is not within|is larger than any size|is not a whole number|is neither latest"
    r"|cannot be the default)"
)
"""Of what overrides and entries of types replace the API server knows fields, types and words, but no forms of texts;
of values, keys and outputs no sizes, and of a default nothing."""


@contextmanager
def _noticing() -> Iterator[tuple[set[str], set[str]]]:
    """Notice what rules say that the definition has not, and what conditions say, of which it has patterns."""
    of_rules, of_texts = set[str](), set[str]()
    findings, check = Rule.findings, Text._check

    def of_rule(self: Rule, *versions: BaseModel) -> Iterator[Finding]:
        for one in findings(self, *versions):
            if self.validation is None:
                of_rules.add(one.expectation)
            yield one

    def of_conditions(checks: tuple[Check, ...], value: str) -> None:
        try:
            check(checks, value)
        except RefusedError as error:
            of_texts.update(one.expectation for one in error.findings)
            raise

    with patch.object(Rule, "findings", of_rule), patch.object(Text, "_check", staticmethod(of_conditions)):
        yield of_rules, of_texts


@dataclass(frozen=True, slots=True)
class Verdicts:
    """What both say about one document."""

    causes: list[Cause] | None
    """Of the API server; None when it accepts, or was not asked."""
    problems: list[Problem] | None
    """Of the model; None when it accepts."""
    of_rules: frozenset[str]
    """What the model says by rules that the definition has not. The operator tells it by ``SpecValid``."""
    of_texts: frozenset[str]
    """What the model says of texts by conditions, of which the definition may have patterns."""
    message: str = ""

    @property
    def agree(self) -> bool:
        """Whether they give one answer, but for what only the model can say."""
        if self.problems is None or self.causes is not None:
            return (self.problems is None) == (self.causes is None)
        return self.only_the_model_can_know

    @property
    def only_the_model_can_know(self) -> bool:
        """Whether the definition has nothing of all that the model has against the document."""
        ours = self.of_rules | self.of_texts
        return all(one.expectation in ours or _ELSEWHERE.match(str(one)) for one in self.problems or ())

    @property
    def only_rules_of_the_model(self) -> bool:
        """Whether all of it is said by rules that the definition has not: then it need not be asked."""
        return self.problems is not None and all(one.expectation in self.of_rules for one in self.problems)

    def __str__(self) -> str:
        theirs = "accepts" if self.causes is None else self.message
        ours = "accepts" if self.problems is None else "; ".join(map(str, self.problems))
        return f"\nAPI server: {theirs}\nmodel: {ours}"


class Judge:
    """Asks both, without leaving anything behind."""

    def __init__(self, api: Client) -> None:
        self._api = api
        self._path = COLLECTION.format("default")
        self._known: dict[str, Verdicts] = {}

    def both(self, document: dict[str, Any]) -> Verdicts:
        return self._ask(document, always=True)

    def where_it_matters(self, document: dict[str, Any]) -> Verdicts:
        """Ask both; not the API server when the model's own rules refuse the document: then they agree anyway."""
        return self._ask(document, always=False)

    def _ask(self, document: dict[str, Any], *, always: bool) -> Verdicts:
        text = json.dumps(document, sort_keys=True)
        if text not in self._known:
            ours = _of_the_model(document)
            if not always and ours.only_rules_of_the_model:
                return ours
            self._known[text] = self._with_that_of_the_api_server(document, ours)
        return self._known[text]

    def _with_that_of_the_api_server(self, document: dict[str, Any], ours: Verdicts) -> Verdicts:
        try:
            self._api.create(self._path, document, dryRun="All")
        except Refused as refused:
            if refused.code not in (400, 422):  # neither unreadable nor invalid
                raise
            return replace(ours, causes=refused.causes, message=str(refused))
        return ours


def _of_the_model(document: dict[str, Any]) -> Verdicts:
    problems = None
    with _noticing() as (of_rules, of_texts):
        try:
            parse(document)
        except ManifestError as error:
            problems = error.problems
    return Verdicts(None, problems, frozenset(of_rules), frozenset(of_texts))
