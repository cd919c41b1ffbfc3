"""What a query leaves out by names never has a record that it wants."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
    Not,
)

from pyspark_logpersister.wanted import Limits, ObjectName, Wanted, selected, wanted

Holds = Callable[[dict[str, Any]], bool]
TOPICS = ("clicks", "orders")
ENDS = 40

COMPARED: Sequence[tuple[type[Any], Callable[[Any, Any], bool]]] = (
    (EqualTo, lambda one, other: one == other),
    (GreaterThan, lambda one, other: one > other),
    (GreaterThanOrEqual, lambda one, other: one >= other),
    (LessThan, lambda one, other: one < other),
    (LessThanOrEqual, lambda one, other: one <= other),
    (In, lambda one, other: one in other),
)


@st.composite
def conditions(draw: st.DrawFn) -> tuple[Filter, Holds]:
    column = draw(st.sampled_from(["topic", "partition", "offset", "value"]))
    values = st.sampled_from(TOPICS) if column == "topic" else st.integers(0, 3 if column == "partition" else ENDS)
    made, compare = draw(st.sampled_from(COMPARED))
    value: Any = draw(values)
    if made is In:
        value = tuple(draw(st.lists(values, min_size=1, max_size=3)))
    found: Filter = made((column,), value)
    if draw(st.booleans()):
        return Not(found), lambda row: not compare(row[column], value)
    return found, lambda row: compare(row[column], value)


@st.composite
def names(draw: st.DrawFn) -> tuple[ObjectName, int]:
    start = draw(st.integers(0, ENDS))
    return ObjectName(draw(st.sampled_from(TOPICS)), draw(st.integers(0, 3)), 1, start, f"{start}"), start


@given(st.lists(conditions(), max_size=4), st.lists(names(), max_size=6, unique_by=lambda one: one[0]), st.data())
def test_no_object_with_a_wanted_record_is_left_out(
    drawn: list[tuple[Filter, Holds]], objects: list[tuple[ObjectName, int]], data: st.DataObject
) -> None:
    found = sorted(name for name, _ in objects)
    kept = set(selected(found, wanted(one for one, _ in drawn)))
    for number, name in enumerate(found):
        following = found[number + 1] if number + 1 < len(found) else None
        ends = ENDS + 5
        if following is not None and (following.topic, following.partition) == (name.topic, name.partition):
            ends = following.start
        for offset in range(name.start, ends):
            row = {"topic": name.topic, "partition": name.partition, "offset": offset, "value": offset}
            if all(holds(row) for _, holds in drawn):
                assert name in kept


def test_objects_are_chosen_by_their_names() -> None:
    found = [ObjectName("clicks", 0, generation, start, "") for generation in (1, 2) for start in (0, 10, 20)]
    assert list(selected(found, Wanted())) == found[3:]
    assert list(selected(found, Wanted(), 1)) == found[:3]
    query = wanted([EqualTo(("topic",), "clicks"), GreaterThanOrEqual(("offset",), 10), LessThan(("offset",), 20)])
    assert [one.start for one in selected(found, query)] == [10]
    assert list(selected(found, wanted([In(("topic",), ("orders",))]))) == []
    assert list(selected(found, wanted([EqualTo(("partition",), 1)]))) == []


@pytest.mark.parametrize(
    ("microsecond", "limits"),
    [(0, Limits(1_700_000_000_000, 1_700_000_000_000)), (1, Limits(1_700_000_000_000, 1_700_000_000_001))],
)
def test_times_are_milliseconds_that_hold_them(microsecond: int, limits: Limits) -> None:
    time = datetime.fromtimestamp(1_700_000_000, UTC).replace(microsecond=microsecond)
    assert wanted([EqualTo(("timestamp",), time)]).of("timestamp") == limits


def test_what_cannot_be_decided_is_left_to_spark() -> None:
    filters: list[Filter] = [IsNotNull(("offset",)), EqualTo(("headers", "offset"), 1), EqualTo(("value",), b"x")]
    assert wanted(filters) == Wanted()


@pytest.mark.parametrize(
    "one",
    [
        GreaterThanOrEqual(("timestamp",), datetime(1, 1, 1)),  # noqa: DTZ001 - as Spark gives it
        LessThan(("timestamp",), datetime.max),  # noqa: DTZ901
        In(("offset",), (1, None)),
        EqualTo(("partition",), None),
    ],
)
def test_what_has_no_number_is_left_to_spark(one: Filter) -> None:
    assert wanted([one]).of(getattr(one, "attribute", ("",))[0]).holds(5)
