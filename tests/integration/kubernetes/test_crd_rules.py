"""The API server refuses nothing that the model takes, and what the definition can say it refuses, too."""

import contextlib
import copy
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import Any

import yaml

from logpersister.forms.constraint import compiled
from logpersister.manifest import ManifestError, parse
from tests.integration.kubernetes.conftest import CRD_FILE
from tests.integration.kubernetes.judge import Judge
from tests.stack.kubernetes.client import Document
from tests.unit.manifest.documents import changed
from tests.unit.manifest.rich import RICH
from tests.unit.manifest.test_rules import ACCEPTED, REFUSED, TOLD, UNUSED

_KUBERNETES_OWN = ("metadata", "metadata.namespace", "metadata.labels", "metadata.annotations", "status")
"""What Kubernetes checks by rules of its own, whatever the definition says."""


def _is_ours(changes: dict[str, Any]) -> bool:
    return not set(changes) & set(_KUBERNETES_OWN)


_MATCHES = re.compile(r"(?:self|string\(self\))\.matches\('((?:[^'\\]|\\.)*)'\)")
_ESCAPED = {"n": "\n", "r": "\r"}

OUR_ACCEPTED = [changes for changes in (*ACCEPTED, *(pointless for pointless, _ in UNUSED)) if _is_ours(changes)]
OUR_REFUSED = [changes for changes, _ in [*REFUSED, *TOLD] if _is_ours(changes)]


def test_both_accept(judge: Judge) -> None:
    judged = [judge.both(document) for document in [*map(changed, OUR_ACCEPTED), *RICH]]
    assert not (differ := [one for one in judged if one.problems is not None or one.causes is not None]), told(differ)


def told(verdicts: Iterable[object]) -> str:
    return "\n".join(map(str, verdicts))


@dataclass(frozen=True, slots=True)
class Node:
    """One value that the schema knows."""

    steps: tuple[str | int, ...]
    """Where it is in a document; the first entry of lists, any key of maps."""
    schema: Document
    required: bool
    shape: str
    """All that the schema demands of it. The definition is written from the model, and the messages of rules are those
    of the model's types: fields of one shape have one type in both."""

    @property
    def path(self) -> str:
        """As the API server and the model write it: ``spec.kafka.topics[0]``."""
        text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in self.steps)
        return text.removeprefix(".")

    @property
    def is_of_any_type(self) -> bool:
        """Whether nothing of it is forbidden."""
        return "type" not in self.schema and "x-kubernetes-preserve-unknown-fields" in self.schema

    def __str__(self) -> str:
        return self.path


def _nodes(schema: Document, steps: tuple[str | int, ...], *, required: bool = True) -> Iterator[Node]:
    demands = {name: value for name, value in schema.items() if name not in ("description", "default")}
    if pattern := _pattern_of(schema):
        schema = schema | {"pattern": pattern}
    yield Node(steps, schema, required, json.dumps(demands, sort_keys=True))
    for name, below in schema.get("properties", {}).items():
        yield from _nodes(below, (*steps, name), required=name in schema.get("required", ()))
    if "items" in schema:
        yield from _nodes(schema["items"], (*steps, 0))


def _pattern_of(schema: Document) -> str:
    """Return the pattern that a rule says in words; empty when there is none."""
    for entry in schema.get("x-kubernetes-validations", ()):
        if found := _MATCHES.fullmatch(entry["rule"]):
            return re.sub(r"\\(.)", lambda escaped: _ESCAPED.get(escaped[1], escaped[1]), found[1])
    return ""


@cache
def nodes() -> list[Node]:
    """Return all nodes, but for those in blocks of entries of overrides and types, which are there once more."""
    schema = yaml.load(CRD_FILE.read_text(), yaml.CSafeLoader)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    found = _nodes(schema["properties"]["spec"], ("spec",))
    return [one for one in found if not _BLOCK_ELSEWHERE.match(one.path)]


_BLOCK_ELSEWHERE = re.compile(r"spec\.(overrides|types\.entries)\[0\]\.(value|key|quarantine|output|keep)[.\[]")


def _value(document: Any, steps: Sequence[str | int]) -> Any:
    for step in steps:
        if isinstance(document, list) and isinstance(step, int):
            document = document[step] if step < len(document) else None
        else:
            document = document.get(step) if isinstance(document, dict) else None
    return document


@cache
def base(steps: tuple[str | int, ...]) -> Document:
    """Return the smallest document that has something there; another entry of the same list may have it.

    It is shared: who changes it copies it.
    """
    found = [_lean(number, steps[1:2]) for number, one in enumerate(_candidates()) if _value(one, steps) is not None]
    assert found, f"no manifest of rich.py sets {steps}"
    return min(found, key=lambda document: len(json.dumps(document)))


@cache
def _candidates() -> list[Document]:
    """Return the documents, and each with another of its levels of folders, or fields of its schema, first."""
    return [one for document in RICH for one in _with_entries_turned(document)]


def _with_entries_turned(document: Document) -> Iterator[Document]:
    yield document
    kinds = (("spec", block, kind, "fields") for block in ("value", "key") for kind in document["spec"].get(block, ()))
    for steps in (("spec", "output", "partitionBy"), *kinds):
        entries = _value(document, steps) or []
        for first in range(1, len(entries)):
            turned = copy.deepcopy(document)
            _value(turned, steps[:-1])[steps[-1]] = entries[first:] + entries[:first]
            yield turned


@cache
def _lean(number: int, blocks: tuple[str, ...]) -> Document:
    """Return a candidate without the blocks that these can do without.

    The API server takes 45 ms for the largest one of all, and 10 ms for a small one.
    """
    document = _candidates()[number]
    for beside in ((), ("value",), ("value", "quarantine", "output")):
        kept = {"kafka", "storage", *beside, *blocks}
        lean = {**document, "spec": {name: value for name, value in document["spec"].items() if name in kept}}
        with contextlib.suppress(ManifestError):
            parse(lean)
            return lean
    return document


def with_value(node: Node, value: Any) -> Document:
    document = copy.deepcopy(base(node.steps))
    above = _value(document, node.steps[:-1])
    above[node.steps[-1]] = value
    return document


@dataclass(frozen=True, slots=True)
class Violation:
    """A value that breaks one constraint of the schema."""

    node: Node
    keyword: str
    value: Any

    def __str__(self) -> str:
        return f"{self.node.path}-{self.keyword}"


_OTHER_TYPE = {"object": "text", "array": "text", "string": 5, "integer": "text", "boolean": "text"}
_ODD_TEXTS = ("", "\n", "ä", " x", "x\n", "{}")


def _violations(node: Node) -> Iterator[Violation]:
    schema = node.schema
    current = _value(base(node.steps), node.steps)
    if "type" in schema or "x-kubernetes-preserve-unknown-fields" not in schema:  # else it may be anything
        yield Violation(node, "type", _OTHER_TYPE.get(schema.get("type", ""), 1.5))
    if "enum" in schema:
        yield Violation(node, "enum", "no-such-word")
    if "minimum" in schema:
        yield Violation(node, "minimum", schema["minimum"] - 1)
    if "maximum" in schema:
        yield Violation(node, "maximum", schema["maximum"] + 1)
    if "maxLength" in schema:
        yield Violation(node, "maxLength", "a" * (schema["maxLength"] + 1))
    if "minItems" in schema:
        yield Violation(node, "minItems", current[: schema["minItems"] - 1])
    if "maxItems" in schema:
        yield Violation(node, "maxItems", (current * (schema["maxItems"] + 1))[: schema["maxItems"] + 1])
    if "maxProperties" in schema:
        yield Violation(node, "maxProperties", {f"spark.{n}": "" for n in range(schema["maxProperties"] + 1)})
    if "pattern" in schema:
        pattern = compiled(schema["pattern"])
        for odd in (odd for odd in _ODD_TEXTS if pattern.search(odd) is None):
            yield Violation(node, f"pattern {odd!r}", odd)
    if schema.get("x-kubernetes-list-type") == "set":
        yield Violation(node, "set", [*current, current[0]])


def violations() -> list[Violation]:
    return [violation for node in nodes() if not node.is_of_any_type for violation in _violations(node)]


_OF_KUBERNETES = ("type", "enum", "maxLength", "minItems", "maxItems", "maxProperties", "set")
"""Keywords that the API server sees to by itself, whatever the field; patterns and bounds have rules of ours beside."""


def _of_each_shape(found: Iterable[Violation]) -> list[Violation]:
    """Return one of those that are alike to the API server; fields take turns."""
    alike: dict[tuple[str, str], list[Violation]] = {}
    for one in found:
        kind = str(one.node.schema.get("type")) if one.keyword in _OF_KUBERNETES else one.node.shape
        alike.setdefault((kind, one.keyword), []).append(one)
    return [group[turn % len(group)] for turn, group in enumerate(alike.values())]


def test_both_refuse_what_the_schema_forbids(judge: Judge) -> None:
    for violation in _of_each_shape(violations()):
        _both_refuse_at(judge, with_value(violation.node, violation.value), violation.node)


def _both_refuse_at(judge: Judge, document: Document, node: Node) -> None:
    verdicts = judge.both(document)
    assert any(cause.field.startswith(node.path) for cause in verdicts.causes or ()), f"{node}: {verdicts}"
    assert any(problem.path.startswith(node.path) for problem in verdicts.problems or ()), f"{node}: {verdicts}"


def test_the_model_refuses_in_every_field_what_the_schema_forbids() -> None:
    """The API server judges alike fields alike, and the model by code of its own for each."""
    taken = [str(one) for one in violations() if not _is_refused_there(one)]
    assert not taken


def _is_refused_there(violation: Violation) -> bool:
    try:
        parse(with_value(violation.node, violation.value))
    except ManifestError as error:
        return any(problem.path.startswith(violation.node.path) for problem in error.problems)
    return False


def test_both_want_what_is_required(judge: Judge) -> None:
    for node in nodes():
        if node.required and isinstance(node.steps[-1], str) and node.steps != ("spec",):
            document = copy.deepcopy(base(node.steps))
            del _value(document, node.steps[:-1])[node.steps[-1]]
            _both_refuse_at(judge, document, node)


def _limits() -> list[Violation]:
    found = []
    for node in nodes():
        values = [node.schema[keyword] for keyword in ("minimum", "maximum") if keyword in node.schema]
        found += [Violation(node, f"={value}", value) for value in [*values, *node.schema.get("enum", ())]]
        if node.schema.get("type") == "integer":
            found.append(Violation(node, "float", float(_value(base(node.steps), node.steps))))
        if "maxLength" in node.schema:
            found.append(Violation(node, "longest", "a" * node.schema["maxLength"]))
    return found


def test_both_agree_at_every_limit(judge: Judge) -> None:
    judged = [judge.where_it_matters(with_value(limit.node, limit.value)) for limit in _of_each_shape(_limits())]
    assert not (differ := [one for one in judged if not one.agree]), told(differ)


def test_both_refuse_and_every_rule_does(judge: Judge) -> None:
    declared = {
        (node.shape, re.sub(r"\[\d+\]", "[]", node.path), re.escape(entry["message"]))
        for node in nodes()
        for entry in node.schema.get("x-kubernetes-validations", ())
    }
    assert len({(path, message) for _, path, message in declared}) > 60
    seen: set[tuple[str, str]] = set()
    refused = [judge.where_it_matters(changed(changes)) for changes in OUR_REFUSED]
    assert not (differ := [one for one in refused if one.problems is None or not one.agree]), told(differ)
    violated = [judge.both(with_value(one.node, one.value)) for one in _of_each_shape(violations())]
    for cause in chain.from_iterable(verdicts.causes or () for verdicts in [*refused, *violated]):
        field = re.sub(r"\[\d+\]", "[]", cause.field)
        for shape, path, message in declared:
            if field.startswith(path) and re.search(message, cause.message):
                seen.add((shape, message))
    missing = sorted((path, message) for shape, path, message in declared if (shape, message) not in seen)
    assert not missing, told(missing)
