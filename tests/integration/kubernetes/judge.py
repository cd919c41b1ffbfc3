"""The same document before the API server and before the manifest's model."""

import json
import re
from dataclasses import dataclass
from typing import Any

from logpersister.manifest import ManifestError, Problem, parse
from tests.stack.kubernetes import Client, Refused
from tests.stack.kubernetes.client import Cause
from tests.unit.manifest.test_rule import expectations_not_in_cel

COLLECTION = "/apis/logpersister.dev/v1alpha1/namespaces/{}/logpersisters"

ONLY_THE_MODEL_SAYS = tuple(expectations_not_in_cel())
"""What the API server lets through and the model refuses. The operator tells it by ``SpecValid``."""

_OF_OVERRIDES = re.compile(
    r"spec\.(overrides\[[0-9]+\]|types\.entries\[[0-9]+\]|types\.others)"
    r"(\.(parser|schema|output|keep)\b.*: |\.topics\[|\.upload\.maxBytes: .* does not fit|: does not go)"
)
"""Of what an override replaces the API server knows fields and patterns, and no rules: they would cost too much. Of
what an entry of types replaces it knows nothing."""


@dataclass(frozen=True, slots=True)
class Verdicts:
    """What both say about one document."""

    causes: list[Cause] | None
    """Of the API server; None when it accepts."""
    problems: list[Problem] | None
    """Of the model; None when it accepts."""
    message: str = ""

    @property
    def agree(self) -> bool:
        """Whether they give one answer, but for what only the model can say."""
        if self.problems is None or self.causes is not None:
            return (self.problems is None) == (self.causes is None)
        return self.only_the_model_can_know

    @property
    def only_the_model_can_know(self) -> bool:
        """Whether all that the model has against the document is listed as its own."""
        return all(
            problem.expectation.startswith(ONLY_THE_MODEL_SAYS) or _OF_OVERRIDES.match(str(problem))
            for problem in self.problems or ()
        )

    def __str__(self) -> str:
        theirs = "accepts" if self.causes is None else self.message
        ours = "accepts" if self.problems is None else "; ".join(map(str, self.problems))
        return f"\nAPI server: {theirs}\nmodel: {ours}"


class Judge:
    """Asks both, without leaving anything behind."""

    def __init__(self, api: Client, namespace: str = "default") -> None:
        self._api = api
        self._path = COLLECTION.format(namespace)
        self._known: dict[str, Verdicts] = {}

    def both(self, document: dict[str, Any]) -> Verdicts:
        text = json.dumps(document, sort_keys=True)
        if text not in self._known:
            self._known[text] = self._ask_both(document)
        return self._known[text]

    def _ask_both(self, document: dict[str, Any]) -> Verdicts:
        try:
            parse(document)
            problems = None
        except ManifestError as error:
            problems = error.problems
        try:
            self._api.create(self._path, document, dryRun="All")
        except Refused as refused:
            if refused.code not in (400, 422):  # neither unreadable nor invalid
                raise
            return Verdicts(refused.causes, problems, str(refused))
        return Verdicts(None, problems)
