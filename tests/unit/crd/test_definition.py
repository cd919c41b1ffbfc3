"""The definition is what the model says, and what Kubernetes and its users want of one."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from definitions.document import Definition
from definitions.kinds import DEFINITIONS
from definitions.kinds import LOGPERSISTERS as DEFINITION
from definitions.schema import json_schema
from definitions.structural import structural

from crds import main
from logpersister.forms.constraint import matches
from tests.integration.kubernetes.conftest import CRD_FILE

CHART_TEMPLATE = CRD_FILE.parents[1] / "charts" / "logpersister" / "templates" / "crd.yaml"
VERSION = DEFINITION.document()["spec"]["versions"][0]
SCHEMA = VERSION["schema"]["openAPIV3Schema"]


def nodes(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every value that a schema knows, with its path."""
    yield path, schema
    for name, below in schema.get("properties", {}).items():
        yield from nodes(below, f"{path}.{name}")
    for keyword in ("items", "additionalProperties"):
        if keyword in schema:
            yield from nodes(schema[keyword], f"{path}[]")


NODES = dict(nodes(SCHEMA))
_PART = re.compile(r"\.spec\.(?:overrides\[\]|types\.entries\[\])\.(value|key|quarantine|output|keep)")
"""What of an override, and of an entry of types, has the fields of a part of the spec."""
_IN_PART = re.compile(rf"{_PART.pattern}[.\[]")
_LIKE_JSON = re.compile(r"\.spec\.(?:value|key)\.[a-z]+\.(?:fields|faults)(?:\[\])?\.")
"""Fields of each kind that are described where those of JSON are."""
_OF_ANY_TYPE = re.compile(
    r".*\.(?:fields\[\]\.default|keep\[\]\.(?:in\[\]|notIn\[\]|atLeast|atMost|below))|.*odTemplate\.spec"
)


def test_the_file_is_up_to_date(tmp_path: Any) -> None:
    main(tmp_path / "new", tmp_path / "chart" / "crd.yaml")
    names = [f"{one.kind.plural}.yaml" for one in DEFINITIONS]
    assert sorted(file.name for file in CRD_FILE.parent.iterdir()) == sorted(names)
    for name in names:
        assert (tmp_path / "new" / name).read_text() == CRD_FILE.with_name(name).read_text(), "run: make crds"
    assert (tmp_path / "chart" / "crd.yaml").read_text() == CHART_TEMPLATE.read_text(), "run: make crds"


def test_it_is_far_from_the_limit_of_client_side_apply() -> None:
    # kubectl apply keeps a copy in an annotation, without spaces; all annotations together may have 256 KiB.
    compact = json.dumps(DEFINITION.document(), separators=(",", ":"))
    assert len(compact.encode()) <= 200_000
    assert compact.count('"rule":') <= 150


def test_every_field_has_a_type_wherever_it_stands() -> None:
    """So `kubectl apply` refuses a typo in every block."""
    free = [path for path, node in NODES.items() if "x-kubernetes-preserve-unknown-fields" in node]
    assert [path for path in free if path.startswith(".spec") and not _OF_ANY_TYPE.fullmatch(path)] == []


def test_every_field_says_what_it_is() -> None:
    for path in NODES:
        if not path or path.endswith("[]") or path.startswith(".metadata") or _IN_PART.match(path):
            continue  # Kubernetes' own, and fields that are described where the same part stands first
        if ".json." in path or not _LIKE_JSON.match(path):
            assert re.fullmatch(r"\S.{3,}", NODES[path]["description"]), path  # not a default alone


def test_a_part_that_stands_elsewhere_says_where() -> None:
    parts = {path: found[1] for path in NODES if (found := _PART.fullmatch(path))}
    assert len(parts) == 9
    assert [p for p, name in parts.items() if f"Fields: those of spec.{name}." not in NODES[p]["description"]] == []
    for path in filter(_IN_PART.match, NODES):
        assert re.sub(r"\.(overrides|types\.entries)\[\]", "", path) in NODES, path


@pytest.mark.parametrize("definition", DEFINITIONS[1:], ids=lambda one: one.kind.plural)
def test_each_other_definition_is_structural_and_says_what_fields_are(definition: Definition) -> None:
    for path, node in nodes(definition.schema):
        assert "type" in node or "x-kubernetes-int-or-string" in node, path
        assert not {"$ref", "default", "oneOf", "title"} & set(node), path
        if path and not path.endswith("[]") and not path.startswith(".metadata"):
            assert len(node["description"]) > 3, path
    assert len(json.dumps(definition.document(), separators=(",", ":"))) <= 200_000


def test_nothing_has_a_default() -> None:
    assert [path for path, node in NODES.items() if "default" in node] == []


def test_a_pattern_is_told_in_words_alone_where_a_rule_has_them() -> None:
    told = dict(nodes(structural(json_schema(with_bounds=True))))
    patterns = {path: node["pattern"] for path, node in told.items() if "pattern" in node and not _IN_PART.match(path)}
    in_words = 0
    for path, pattern in patterns.items():
        rules = [entry["rule"] for entry in NODES[path].get("x-kubernetes-validations", ())] if path in NODES else []
        words = tuple(matches(text, pattern, "")["rule"] for text in ("self", "string(self)"))
        says_it = any(rule.startswith(words) for rule in rules)
        assert path not in NODES or ("pattern" in NODES[path]) is not says_it, path
        in_words += says_it
    assert in_words > 50
    assert "pattern" not in NODES[".spec.upload.maxAge"]
    assert "pattern" in NODES[".spec.output.parquet.pageBytes"], "rules would cost too much there"
    assert "pattern" not in NODES[".spec.overrides[].output.parquet.pageBytes"], "the operator says it"
