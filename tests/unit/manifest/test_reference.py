"""The manifest's page and the model say the same, and the schema is one that a CRD can have."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from definitions.schema import json_schema
from manifest_reference import fields, main, with_tables

from logpersister.manifest import FeedCollector, LogPersister, load, load_collector
from logpersister.manifest.load import parse_as
from logpersister.manifest.log_replay import LogReplay
from logpersister.manifest.revisions.revision import revision_of
from tests.pages import PAGES
from tests.unit.manifest.documents import accepted

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "manifest.md"
EXAMPLES = sorted((ROOT / "examples").glob("*.yaml"))


def documented() -> dict[str, tuple[str, str]]:
    """Return type and default of each field that the page has a row for."""
    found: dict[str, tuple[str, str]] = {}
    for block, rows in re.findall(r"<!-- fields of (\S+) -->\n((?:\|.*\n)*)", PAGE.read_text()):
        prefix = "" if block == "the-resource" else f"{block}."
        for name, kind, default in re.findall(r"^\| `([\w.\[\]]+)` \| (.*?) \| (.*?) \| .+ \|$", rows, re.MULTILINE):
            assert f"{prefix}{name}" not in found, "a field has two rows"
            found[f"{prefix}{name}"] = (kind, default.strip())
    return found


def test_every_field_is_documented_and_nothing_else() -> None:
    expected = {field.path: (field.type, field.default) for field in fields()}
    assert documented() == expected


def test_the_page_is_up_to_date(tmp_path: Path) -> None:
    text = PAGE.read_text()
    assert with_tables(text) == text, "run: python scripts/manifest_reference.py docs/manifest.md"
    copy = tmp_path / "manifest.md"
    copy.write_text(re.sub(r"(?m)^\| `[\w.]+` .*\| required \|.*\n", "", text))
    main(copy)
    assert copy.read_text() == text


def test_every_field_says_what_it_is_for() -> None:
    assert [field.path for field in fields() if len(field.description) <= 15 or field.description[-1] != "."] == []


def test_documented_defaults_are_the_real_ones() -> None:
    document = revision_of(accepted({}), "0").document
    document["spec"]["members"] = 1
    for field in fields():
        found: Any = document
        for step in field.path.split("."):
            found = found.get(step) if isinstance(found, dict) else None
        if field.default.startswith("`") and found is not None:
            expected = found if isinstance(found, str) and found.strip() and found.isprintable() else json.dumps(found)
            assert field.default == f"`{expected}`", field.path


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_examples_are_valid(example: Path) -> None:
    assert _loaded(example).kind in {"LogPersister", "FeedCollector", "LogReplay"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_manifests_of_the_page_are_valid(page: Path, tmp_path: Path) -> None:
    """A block that begins with `spec` says all that it needs, but for Kafka and the bucket."""
    for block in re.findall(r"(?m)^```yaml\n(apiVersion: logpersister.*?|spec:.*?)^```", page.read_text(), re.DOTALL):
        document = yaml.safe_load(block)
        text = block
        if "apiVersion" not in document:
            kafka = {"bootstrapServers": "broker-1:9092"} | document["spec"].get("kafka", {"topics": ["clicks"]})
            storage = {"bucket": "logs", "prefix": "raw"} | document["spec"].get("storage", {})
            head = {"apiVersion": "logpersister.dev/v1alpha1", "kind": "LogPersister", "metadata": {"name": "clicks"}}
            text = yaml.safe_dump(head | {"spec": document["spec"] | {"kafka": kafka, "storage": storage}})
        file = tmp_path / "block.yaml"
        file.write_text(text)
        _loaded(file)


def _loaded(file: Path) -> LogPersister | FeedCollector | LogReplay:
    text = file.read_text()
    if "kind: LogReplay" in text:
        return parse_as(LogReplay, yaml.safe_load(text))
    return load_collector(file) if "kind: FeedCollector" in text else load(file)


def _nodes(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        yield node
    for below in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from _nodes(below)


def test_patterns_are_those_of_the_api_server() -> None:
    patterns = [node["pattern"] for node in _nodes(json_schema()) if isinstance(node.get("pattern"), str)]
    assert patterns
    for pattern in patterns:
        assert "(?" not in pattern, "the API server's RE2 has no lookaround"
        re.compile(pattern)
