"""The same document before the API server and before the manifest's model."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from logpersister.manifest import ManifestError, Problem, parse
from tests.stack.kubernetes import Client, Refused
from tests.stack.kubernetes.client import Cause

COLLECTION = "/apis/logpersister.dev/v1alpha1/namespaces/{}/logpersisters"

ONLY_THE_MODEL_SAYS: Mapping[str, str] = {
    "needs folders by time, but the levels by date of partitionBy name none": "each level would have to be "
    "compared with its neighbours, and with those of overrides",
    "follows the time of folders, but types have folders by different times": (
        "the levels of all entries would have to be compared"
    ),
    "is a topic that the group stores, so that it would tell of itself": (
        "the API server cannot say whether a pattern in Python's syntax selects a topic"
    ),
    "is not a type:": "types nest, and patterns do not",
    "is a pattern that tells no instant": "it would have to take the pattern apart",
    "has more than 1000 columns at all depths together": "it would have to understand the types",
    "is also the name of a folder of output.partitionBy, and readers take both for one column": (
        "the default of a folder's prefix depends on its granularity"
    ),
    "cannot be a column of the table": "it would have to understand the types of the schema",
    "cannot have tables of its types": "each rule of tables would have to be written once more for each entry",
    "names no column of the table": "the default of a folder's prefix depends on its granularity",
    "names a column that the table has already": (
        "names are compared without regard to case, and the default of a prefix depends on its granularity"
    ),
    "sets properties whose names begin with logpersister., which members set": ("keys of a map have no patterns there"),
    "has json in it, which Avro and MessagePack values do not have": (
        "it would have to understand the types of the schema"
    ),
    "is a struct, list or map, which lines of text do not have": (
        "it would have to understand the types of the schema"
    ),
    "is the name of a column of values, and so of what unknownFields keeps; case does not count": (
        "spec.schema.rename can give a column any name"
    ),
    "has a column that is named by a number, as further columns of values are in the column of what is kept": (
        "comparing so many names costs more than the API server allows"
    ),
    "has a Bloom filter before": "comparing so many names costs more than the API server allows",
    "stores keys as they are, but spec.schema hides fields of them": (
        "fields of keys are paths, whose first name the manifest may choose"
    ),
    "is in fieldIds twice": "comparing so many numbers costs more than the API server allows",
    "is there before; case does not count": "comparing so many names costs more than the API server allows",
    "is no name for a column": "it would have to know the names that rename gives",
    "cannot be renamed": "it would have to understand the types",
    "cannot be the default": "of a value of any type CEL sees nothing",
    "is for fields that may be absent, and values of this parser lack none": "of a value of any type CEL sees nothing",
    "is not a field of the values": "comparing so many names costs more than the API server allows",
    "has a group whose name is not a field of spec.schema": "it would have to understand the pattern",
    "is not a pattern: it": "patterns nest, and patterns do not",
    "cannot be the columns": "it would have to understand Avro, protobuf and Thrift",
    "is not in the message of spec.schema": "it would have to understand Avro, protobuf and Thrift",
    "is the name of a column of values, too; case does not count": (
        "it would have to understand Avro, protobuf and Thrift"
    ),
    "cannot be what keys become": "it would have to understand the type",
    "cannot be compared": "it would have to understand the types of the schema",
    "asks for nothing": "values may be of several types, so the definition knows nothing of them",
    "contradicts other operators, which hold for values only": (
        "values may be of several types, so the definition knows nothing of them"
    ),
    "has more than 1,000 characters and classes, repeated ones counted so often": (
        "it would have to understand the pattern"
    ),
    "cannot be hidden": "it would have to understand the types",
    "cannot have this option": "it would have to understand the types of the schema",
    "cannot hold the columns": "it would have to understand the types of the schema",
    "cannot name folders": "it would have to understand the types of the schema",
    "has the folders of another level": (
        "a field's folder is named by its default, which rules of the API server would have to work out"
    ),
    "names topics that spec.kafka does not select, or that an earlier entry has": (
        "the API server cannot say whether a pattern in Python's syntax selects a topic"
    ),
    "does not go together with the rest of the spec": (
        "each rule of the spec would have to be written once more for each entry"
    ),
    "does not apply beside spec.types, where quarantine is always Parquet with all of a record": (
        "each rule of the spec would have to be written once more for each entry"
    ),
    "has patterns of more than 10,000 characters and classes together, which take too much memory": (
        "it would have to understand the patterns"
    ),
    "names types that an earlier entry has": "comparing so many names costs more than the API server allows",
    "is the folder of another entry": "comparing so many names costs more than the API server allows",
    "is not a whole number, but types of frames are": "CEL would have to look at every name",
    "overlaps another number": "it would be an expression for each pair of numbers",
    "takes more than 100 bytes in the name of a folder, where a letter outside of ASCII takes two to four": (
        "CEL cannot count the bytes of a text"
    ),
    "is not a regular expression": "the syntax is Python's, and only Python can tell whether it holds",
    "cannot be combined with excludeTopicPattern": (
        "whether two patterns can stand in one depends on names of groups and on limits of Python's syntax"
    ),
    "sets the image of our container": (
        "the definition has no schema of a pod, and of what it has no schema of CEL sees nothing"
    ),
    "is no time zone of the IANA database": "there are 600 names, and more with each edition of the database",
}
"""What the API server lets through and the model refuses, with the reason. The operator tells it by ``SpecValid``."""

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
            problem.expectation.startswith(tuple(ONLY_THE_MODEL_SAYS)) or _OF_OVERRIDES.match(str(problem))
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
