"""Quarantine as a partition path: against a reference of one record at a time, and apart from every other path."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logpersister.manifest.blocks.output import OutputSpec
from logpersister.records.escaping import QUARANTINE
from logpersister.records.paths import Assignment, make_layout
from logpersister.records.type_layout import TypeLayout, layout_of
from logpersister.storage.names import object_key, parse_object_key
from logpersister.values.parser import Parsing
from tests.unit.records.batches import batch_of

JSON = Parsing(type="json")
DAY = 86_400_000
BY_DAY: dict[str, Any] = {"partitionBy": [{"date": {"granularity": "day"}}]}
BY_OFFSET: dict[str, Any] = {"partitionBy": [{"offset": {"every": 3}}]}
BOTH: dict[str, Any] = {"partitionBy": [*BY_DAY["partitionBy"], *BY_OFFSET["partitionBy"]]}


def layout(output: dict[str, Any], parser: Parsing = JSON) -> TypeLayout:
    return layout_of(OutputSpec.model_validate(output), parser)


def paths(assignment: Assignment) -> list[str]:
    return [assignment.paths[index] for index in assignment.indices]


@pytest.mark.parametrize("output", [{}, BY_DAY, BY_OFFSET, BOTH], ids=["none", "day", "offset", "both"])
@given(
    rows=st.lists(
        st.tuples(st.sampled_from([b"{}", b"[1]", b"", b"{", b"\xff", None]), st.integers(-1, 3)), max_size=20
    )
)
def test_bad_records_go_there_and_all_others_where_they_went(
    output: dict[str, Any], rows: Sequence[tuple[bytes | None, int]]
) -> None:
    batch = batch_of([day * DAY for _, day in rows], values=[value for value, _ in rows])
    without = paths(make_layout(OutputSpec.model_validate(output).partition_by).assign(batch))
    bad = [value in (b"", b"{", b"\xff") for value, _ in rows]

    assignment = layout(output).assign(batch)

    assert paths(assignment) == [QUARANTINE if is_bad else path for is_bad, path in zip(bad, without, strict=True)]
    assert sorted(set(assignment.indices.tolist())) == list(range(len(assignment.paths)))
    assert len(set(assignment.paths)) == len(assignment.paths)
    if any(bad):
        assert assignment.refused is not None
        assert assignment.refused.rows.tolist() == [row for row, is_bad in enumerate(bad) if is_bad]
    else:
        assert assignment.refused is None


@given(
    st.sampled_from(["", "raw", "clicks", "a/clicks"]),
    st.sampled_from(["clicks", "_quarantine", "_logpersister", "a", "dt"]),
    st.sampled_from(["", "clicks", "raw", "a", "a/clicks", "clicks/_quarantine"]),
    st.sampled_from(["clicks", "_quarantine", "_logpersister", "raw"]),
)
def test_below_no_prefix_a_topic_meets_the_quarantine_of_another(
    prefix: str, topic: str, other_prefix: str, other_topic: str
) -> None:
    key = object_key(prefix, topic, QUARANTINE, 1, 0, 0, ".txt")
    found = parse_object_key(prefix, key)
    assert found is not None
    assert (found.topic, found.path) == (topic, QUARANTINE)
    if other_prefix != "clicks/_quarantine":  # chosen to be there
        assert key != object_key(other_prefix, other_topic, "", 1, 0, 0, ".txt")
