"""Loads a manifest from YAML, or from a document of the API server, into the model."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError

from logpersister.forms import document as yaml_document
from logpersister.forms.nulls import EXPECTATION, REMEDY, field_at, misleading_nulls, models_in, without_nulls
from logpersister.forms.problems import (
    LineOf,
    ManifestError,
    PathStep,
    Problem,
    path_text,
    problems_of,
    unknown_field,
)
from logpersister.forms.substitution import Variables
from logpersister.manifest.feed_collector import FeedCollector
from logpersister.manifest.kubernetes_resource import OBJECT_META
from logpersister.manifest.resource import LogPersister

Kind = TypeVar("Kind", bound=BaseModel)

LARGEST_MANIFEST = 1_000_000
"""Bytes; about what etcd takes, and more than any manifest has."""
LARGEST_COLLECTOR = 32_000_000
"""Bytes of tens of thousands of feeds, which only a file may have."""
MOST_NODES_OF_FEEDS: Final = 2_000_000

STANDARD_INPUT = "-"


def load(path: str | Path, variables: Variables | None = None) -> LogPersister:
    """Read a manifest from a YAML (or JSON) file, or from standard input when it is called ``-``.

    With `variables`, references to them such as ``${NAME}`` are replaced; else they are text like any other. Raises
    `ManifestError` with file and line of all that is wrong.
    """
    content, source = _content(path, LARGEST_MANIFEST)
    return parse_text(content, source, variables)


def load_collector(path: str | Path, variables: Variables | None = None) -> FeedCollector:
    """Read the manifest of a FeedCollector the same way."""
    content, source = _content(path, LARGEST_COLLECTOR)
    return parse_collector(content, source, variables)


def load_either(path: str | Path, variables: Variables | None = None) -> LogPersister | FeedCollector:
    """Read a manifest of either kind the same way, as its field ``kind`` says."""
    content, source = _content(path, LARGEST_COLLECTOR)
    document = yaml_document.read(content, source, variables, MOST_NODES_OF_FEEDS)
    if isinstance(document.value, dict) and document.value.get("kind") == "FeedCollector":
        return parse_collector(content, source, variables)
    return parse_text(content, source, variables)


def _content(path: str | Path, largest: int) -> tuple[bytes, str]:
    """Return the text of a manifest, a byte more than `largest` at most, and its name."""
    source = "standard input" if str(path) == STANDARD_INPUT else str(path)
    try:
        if str(path) == STANDARD_INPUT:
            return sys.stdin.buffer.read(largest + 1), source
        with Path(path).open("rb") as file:
            return file.read(largest + 1), source
    except OSError as error:
        problem = Problem(
            "", f"cannot be read ({error.strerror or error})", "name a manifest that exists and is readable"
        )
        raise ManifestError([problem], source) from None


def parse_text(content: str | bytes, source: str | None = None, variables: Variables | None = None) -> LogPersister:
    """Parse the text of a manifest; raise `ManifestError`. ``source`` is how messages name the text."""
    return _parse_text(LogPersister, content, source, variables, (LARGEST_MANIFEST, yaml_document.MOST_NODES))


def parse_collector(
    content: str | bytes, source: str | None = None, variables: Variables | None = None
) -> FeedCollector:
    """Parse the text of a FeedCollector the same way."""
    return _parse_text(FeedCollector, content, source, variables, (LARGEST_COLLECTOR, MOST_NODES_OF_FEEDS))


def _parse_text(
    kind: type[Kind],
    content: str | bytes,
    source: str | None,
    variables: Variables | None,
    most: tuple[int, int],
) -> Kind:
    largest, nodes = most
    if len(content) > largest:
        raise ManifestError([Problem("", f"is larger than {largest} bytes", "name a manifest")], source)
    document = yaml_document.read(content, source, variables, nodes)
    return _validate(kind, document.value, source, document.line_of, _unknown_metadata(document))


def parse(document: Any) -> LogPersister:
    """Validate a document of dicts, lists and scalars, as JSON has them; raise `ManifestError`. It is not changed."""
    return parse_as(LogPersister, document)


def parse_as(kind: type[Kind], document: Any) -> Kind:
    """Validate a document as a resource of another kind the same way."""
    return _validate(kind, document, None, lambda _: None)


def _unknown_metadata(document: yaml_document.Document) -> list[Problem]:
    """Return the fields of ``metadata`` that Kubernetes does not have: the model lets all through, for its sake."""
    metadata = document.value.get("metadata") if isinstance(document.value, dict) else None
    if not isinstance(metadata, dict):
        return []
    unknown = [("metadata", str(name)) for name in metadata if name not in OBJECT_META]
    return [unknown_field(steps, OBJECT_META, document.line_of(steps)) for steps in unknown]


def _validate(
    kind: type[Kind], document: Any, source: str | None, line_of: LineOf, found: Sequence[Problem] = ()
) -> Kind:
    if not isinstance(document, dict):
        problem = Problem("", "is not a mapping", "begin with apiVersion, kind, metadata and spec")
        raise ManifestError([problem], source)
    nulls = misleading_nulls(document, kind)
    problems = [*found, *(Problem(path_text(at), EXPECTATION, REMEDY, line=line_of(at)) for at in nulls)]
    try:
        resource = kind.model_validate(without_nulls(document, kind), by_alias=True, by_name=False)
        if not problems:
            return resource
    except ValidationError as error:
        problems += problems_of(error.errors(include_url=False), lambda steps: fields_at(steps, kind), line_of)
        problems.sort(key=lambda problem: problem.line or 0)
    # Outside the except block: pydantic's error holds the values, and must not be the context of ours.
    raise ManifestError(problems, source)


def fields_at(steps: Sequence[PathStep], model: type[BaseModel] = LogPersister) -> list[str]:
    """Return the names of the fields that the model has at a path, as YAML has them; none where it has no model."""
    for step in steps:
        if isinstance(step, int):
            continue
        field = field_at(model, step)
        below = None if field is None else next(models_in(field.annotation), None)
        if below is None:
            return []
        model = below
    return [field.alias or name for name, field in model.model_fields.items()]
