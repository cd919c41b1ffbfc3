"""Documents that nobody thought of: valid ones with some values changed, before the API server and the model."""

import copy
import re
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import strategies as st

from tests.examples import examples
from tests.integration.kubernetes.judge import Judge
from tests.integration.kubernetes.test_crd_rules import Node, nodes
from tests.unit.manifest.documents import DOCUMENT, changed
from tests.unit.manifest.rich import RICH
from tests.unit.manifest.test_rules import BOUNDS

_REMOVED = object()
_TEXTS = tuple(
    dict.fromkeys(
        [value for _, fitting, unfit in BOUNDS for value in (*fitting, *unfit) if isinstance(value, str)]
        + ["", " ", "\n", "a", "A", "ä", "a\n", "\u2028", "0", "1", "-1", "999999999999999999Ei", "[::1%eth0]:09092"]
        + ["http://a/?", "(", "(?i)a", "(?i:a)", "(?P<a>b)", "a{99999999999999999999}", "\\1", "\\x41", "Mars/Base"]
    )
)
_NAMES = ("PLAINTEXT", "SSL", "SASL_SSL", "text", "sequencefile", "none", "deflate", "S3")
"""Of enums, which have no pattern."""
_VALUES = st.one_of(
    st.sampled_from([*_TEXTS, *_NAMES]),
    st.sampled_from([None, True, False, 0, 1, -1, 2, 5, 1.0, 1.5, 5242880, 5242879, 2**31, 2**53 + 1, 2**63, [], {}]),
    st.sampled_from([[None], [""], [{}], ["a", "a"], {"a": None}, {"spark.a": "b"}, {"spark.master": "a"}]),
    st.from_regex(r"[0-9]{1,4}(\.[0-9]{1,4})?(d|h|m|s|ms|Ki|Mi|Gi|k|M)?", fullmatch=True),
    st.text(max_size=20).filter(lambda text: "\x00" not in text),
)
_BEYOND = re.compile("[^\x00-\x7e]-[^\x00-\x7e]")
"""Ranges of characters beyond ASCII, which are never drawn: hypothesis would go through all of them, for seconds."""
_WHATEVER_IT_TAKES = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
_SCHEMA = [node for node in nodes() if len(node.steps) > 1]


@st.composite
def mutated(draw: st.DrawFn) -> dict[str, Any]:
    """A valid document of which one to three values are another, are gone, or are those of another valid one."""
    document: dict[str, Any] = copy.deepcopy(draw(st.sampled_from([DOCUMENT, *RICH])))
    for node in draw(st.lists(st.sampled_from(_SCHEMA), min_size=1, max_size=3)):
        value = draw(st.one_of(st.just(_REMOVED), _of_others(node), _fitting(node), _VALUES))
        _put(document, node.steps, value)
    return document


def _of_others(node: Node) -> st.SearchStrategy[Any]:
    found = [value for value in (_at(document, node.steps) for document in RICH) if value is not None]
    return st.sampled_from(found or [_REMOVED])


def _fitting(node: Node) -> st.SearchStrategy[Any]:
    """Values that the schema alone would let through, most of the time."""
    schema = node.schema
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if "pattern" in schema and not schema["pattern"].startswith("^[^"):
        pattern = _BEYOND.sub("", schema["pattern"].removesuffix("$")) + r"\Z"
        return st.from_regex(pattern, alphabet=st.characters(max_codepoint=126))
    if schema.get("type") == "integer":
        return st.integers(schema.get("minimum", 0) - 1, schema.get("maximum", 2**40) + 1)
    if schema.get("type") == "boolean":
        return st.booleans()
    return _VALUES


def _at(document: Any, steps: tuple[str | int, ...]) -> Any:
    for step in steps:
        try:
            document = document[step]
        except (KeyError, IndexError, TypeError):
            return None
    return document


def _put(document: Any, steps: tuple[str | int, ...], value: Any) -> None:
    """Set, or remove, what is at a path; make the mappings above it; leave a document where it cannot be."""
    for step in steps[:-1]:
        if isinstance(document, dict) and isinstance(step, str):
            document = document.setdefault(step, {})
        elif isinstance(document, list) and isinstance(step, int) and step < len(document):
            document = document[step]
        else:
            return
    last = steps[-1]
    if isinstance(document, dict) and isinstance(last, str):
        document.pop(last, None)
        if value is not _REMOVED:
            document[last] = copy.deepcopy(value)  # drawn values are shared
    elif isinstance(document, list) and isinstance(last, int) and value is not _REMOVED:
        document[last:] = [copy.deepcopy(value)]


@examples(50, suppress_health_check=_WHATEVER_IT_TAKES)
@given(mutated())
@example(changed({"spec.kafka.startFrom": "2026-02-30T00:00:00Z"}))
@example(changed({"spec.storage.partSize": 5242880.0}))
def test_both_agree(judge: Judge, document: dict[str, Any]) -> None:
    verdicts = judge.where_it_matters(document)
    assert verdicts.agree, verdicts


@pytest.mark.soak
@examples(4000, suppress_health_check=_WHATEVER_IT_TAKES, derandomize=False, print_blob=True)
@given(mutated())
def test_both_agree_on_others_each_time(judge: Judge, document: dict[str, Any]) -> None:
    verdicts = judge.where_it_matters(document)
    assert verdicts.agree, verdicts
