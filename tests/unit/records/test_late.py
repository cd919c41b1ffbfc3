"""Late records: told by their folder and a horizon alone, and where each goes."""

import json
from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logpersister.compiled.topic import CompiledTopic
from logpersister.manifest.spec import Spec
from logpersister.pipeline.splitting import sides
from logpersister.records.escaping import QUARANTINE, late_path
from logpersister.records.topic_layout import TopicLayout
from logpersister.records.type_folders import folders_by_time
from tests.examples import examples
from tests.unit.manifest.documents import spec_with
from tests.unit.records.batches import batch_of, placed

MINUTE = 60_000
HOUR = 60 * MINUTE
MIDNIGHT = int(datetime.fromisoformat("2026-10-25T00:00Z").timestamp() * 1000)
"""In Berlin clocks are set back an hour later, from three to two."""
DAY_LEVEL, HOUR_LEVEL = ({"date": {"granularity": one}} for one in ("day", "hour"))
OFFSETS = {"offset": {"every": 3}}
SCHEMA = {"fields": [{"name": "id", "type": "int64", "required": True}, {"name": "at", "type": "timestamp[ms]"}]}


def spec_of(late: str, levels: Sequence[dict[str, Any]] = (DAY_LEVEL, HOUR_LEVEL), **more: Any) -> Spec:
    return spec_with(output={"partitionBy": list(levels)}, finish={"late": late}, **more)


def zoned(zone: str, *granularities: str) -> list[dict[str, Any]]:
    return [{"date": {"granularity": one, "timezone": zone}} for one in granularities]


@lru_cache
def json_rows(late: str, levels: str, keep: str = "[]") -> Spec:
    return spec_of(late, json.loads(levels), value={"json": SCHEMA}, keep=json.loads(keep))


def layout(spec: Spec, horizon: int | None) -> TopicLayout:
    return CompiledTopic(spec, lambda _: None).layout_at(horizon)


def paths(batch: pa.RecordBatch, by: TopicLayout) -> list[str]:
    return [path for _, (path, *_) in sorted(placed(batch, by).items())]


def test_late_records_stand_in_their_folders_below_another() -> None:
    spec = spec_of("folder")
    batch = batch_of([MIDNIGHT, MIDNIGHT + HOUR, MIDNIGHT + HOUR - 1, -1, MIDNIGHT + 2 * HOUR])
    hours = [f"dt=2026-10-25/hr=0{number}" for number in range(3)]
    plain = [hours[0], hours[1], hours[0], "dt=unknown/hr=unknown", hours[2]]
    assert paths(batch, layout(spec, None)) == paths(batch, layout(spec, MIDNIGHT + HOUR - 1)) == plain
    late = [f"_late/{hours[0]}", hours[1], f"_late/{hours[0]}", "dt=unknown/hr=unknown", hours[2]]
    assert paths(batch, layout(spec, MIDNIGHT + HOUR)) == late, "a horizon is the end of a folder"
    assert paths(batch, layout(spec_of("append"), MIDNIGHT + HOUR)) == plain


def test_late_records_go_to_quarantine_beside_those_that_the_parser_refuses() -> None:
    spec = spec_of("quarantine", value={"json": SCHEMA})
    times = [MIDNIGHT, MIDNIGHT, MIDNIGHT + HOUR, MIDNIGHT + HOUR, MIDNIGHT]
    values = [b'{"id": 1}', b"{", b'{"id": 3}', b'{"id": "x"}', None]
    batch, now = batch_of(times, values=values), "dt=2026-10-25/hr=01"
    assert placed(batch, layout(spec, MIDNIGHT + HOUR)) == {
        0: (QUARANTINE, "late", None, None),
        1: (QUARANTINE, "not_json", None, None),
        2: (now, None, None, {"id": 3, "at": None}),
        3: (QUARANTINE, "wrong_type", "id", None),
        4: (QUARANTINE, "late", None, None),
    }
    (refused,) = (side for side in sides(batch, layout(spec, MIDNIGHT + HOUR)) if side.refused is not None)
    assert refused.rows.column("offset").to_pylist() == [0, 1, 3, 4], "in the order of offsets"
    assert refused.refused == "no row of the schema: not_json", "not that the first one came late"
    assert (refused.late, refused.first_refused) == (2, 1)


@pytest.mark.parametrize(("late", "adjusted"), [("append", 3), ("folder", 3), ("quarantine", 1)])
def test_adjusted_values_count_only_where_rows_are_stored(late: str, adjusted: int) -> None:
    spec = spec_of(late, value={"json": {**SCHEMA, "faults": {"wrongType": "setNull"}}})
    times = [MIDNIGHT, MIDNIGHT + HOUR, MIDNIGHT, MIDNIGHT]
    values = [b'{"id": 1, "at": 5}', b'{"id": 2, "at": 5}', b"{", b'{"id": 4, "at": 5}']
    parts = [*sides(batch_of(times, values=values), layout(spec, MIDNIGHT + HOUR))]
    told = [part.adjusted.counts() for part in parts if part.adjusted is not None]
    assert told == [{("wrong_type", "at"): adjusted}]


@pytest.mark.parametrize("late", ["folder", "quarantine"])
def test_records_of_types_by_their_folders_with_that_of_their_type(late: str) -> None:
    """One has folders by hour, another by day in a country's time, a third has none by time, a fourth is no row."""
    days = [OFFSETS, *zoned("Europe/Berlin", "day")]
    entries = [
        {"names": ["click", "view"]},
        {"names": ["refund"], "output": {"partitionBy": days}},
        {"names": ["raw"], "output": {"partitionBy": []}},
        {"names": ["row"], "value": {"json": SCHEMA}},
    ]
    spec = spec_of(late, [DAY_LEVEL, HOUR_LEVEL], types={"key": True, "entries": entries})
    keys = [b"click", b"view", b"refund", b"refund", b"raw", b"row", b"row", b"stranger"]
    times = [MIDNIGHT, MIDNIGHT - 1, MIDNIGHT - 1, MIDNIGHT - 3 * HOUR, 0, MIDNIGHT - 1, MIDNIGHT - 1, 0]
    batch = batch_of(times, keys=keys, values=[b"v"] * 5 + [b'{"id": 1}', b"{", b"v"])
    by = layout(spec, MIDNIGHT)

    def aside(path: str, row: Any = None) -> tuple[str, str | None, str | None, Any]:
        return (f"_late/{path}", None, None, row) if late == "folder" else (QUARANTINE, "late", None, None)

    assert placed(batch, by) == {
        0: ("type=click/dt=2026-10-25/hr=00", None, None, None),
        1: aside("type=view/dt=2026-10-24/hr=23"),
        2: ("type=refund/offset=0/dt=2026-10-25", None, None, None),
        3: aside("type=refund/offset=3/dt=2026-10-24"),
        4: ("type=raw", None, None, None),
        5: aside("type=row/dt=2026-10-24/hr=23", {"id": 1, "at": None}),
        6: (QUARANTINE, "not_json", None, None),
        7: (QUARANTINE, "unknown_type", None, None),
    }
    *_, refused = sides(batch, by)
    assert refused.refused == "no row of the schema: not_json", "not that the first one came late"
    for horizon in (MIDNIGHT - 2 * HOUR, MIDNIGHT, MIDNIGHT + HOUR):
        assert_late_by_folders(spec, batch, horizon)


LAYOUTS: Sequence[Sequence[dict[str, Any]]] = (
    zoned("UTC", "day", "hour"),
    zoned("Europe/Berlin", "hour"),
    zoned("Europe/Berlin", "day", "minute"),
    zoned("Australia/Lord_Howe", "hour", "minute"),
    [OFFSETS, *zoned("Europe/Berlin", "day", "hour"), {"offset": {"every": 2}}],
)
SECOND_SUNDAY = int(datetime.fromisoformat("2026-03-29T00:00Z").timestamp() * 1000)
times = st.one_of(
    st.builds(
        lambda day, minutes: day + minutes * MINUTE, st.sampled_from([MIDNIGHT, SECOND_SUNDAY]), st.integers(-200, 200)
    ),
    st.sampled_from([-1, 0, 1 << 60, MIDNIGHT - 86_400_000]),
)
values = st.sampled_from([b'{"id": 1}', b'{"id": 2, "at": "2026-10-24T22:30:00Z"}', b"{", b'{"id": null}', None])


@pytest.mark.parametrize("late", ["folder", "quarantine"])
@pytest.mark.parametrize("levels", LAYOUTS, ids=str)
@examples(60)
@given(
    records=st.lists(st.tuples(times, values), min_size=1, max_size=12), horizon=times.filter(lambda time: time >= 0)
)
def test_records_of_folders_that_have_ended_are_late(
    late: str, levels: Sequence[dict[str, Any]], records: Sequence[tuple[int, bytes | None]], horizon: int
) -> None:
    batch = batch_of([time for time, _ in records], values=[value for _, value in records])
    assert_late_by_folders(json_rows(late, json.dumps(levels)), batch, horizon)


def assert_late_by_folders(spec: Spec, batch: pa.RecordBatch, horizon: int) -> None:
    """Assert that a record is late if its folder ended at the horizon; tests of folders show when these end."""
    folders, plain, members = (
        folders_by_time(spec),
        placed(batch, layout(spec, None)),
        placed(batch, layout(spec, horizon)),
    )
    assert folders is not None
    assert members.keys() == plain.keys()
    for offset, (path, reason, field, row) in plain.items():
        folder = None if path == QUARANTINE else folders.folder_of(path)
        expected: Any = (path, reason, field, row)
        if folder is not None and folder.end <= horizon:
            expected = (QUARANTINE, "late", None, None) if spec.quarantines_late else (late_path(path), None, None, row)
        assert members[offset] == expected


@pytest.mark.parametrize("keep", [[], [{"field": "id", "in": [2]}]], ids=["all", "some"])
@pytest.mark.parametrize("late", ["folder", "quarantine"])
@examples(60)
@given(
    records=st.lists(st.tuples(times, values), min_size=1, max_size=12), horizon=times.filter(lambda time: time >= 0)
)
def test_lateness_by_a_field(
    late: str, keep: Sequence[dict[str, Any]], records: Sequence[tuple[int, bytes | None]], horizon: int
) -> None:
    """Records that conditions leave out are so whatever the horizon is: they are never late."""
    levels = [{"field": "id"}, {"date": {"granularity": "day", "field": "at", "timezone": "Europe/Berlin"}}]
    spec = json_rows(late, json.dumps(levels), json.dumps(keep))
    batch = batch_of([time for time, _ in records], values=[value for _, value in records])
    assert_late_by_folders(spec, batch, horizon)
    left_out = {offset for offset, (_, value) in enumerate(records) if keep and value in (b'{"id": 1}', None)}
    assert set(range(len(records))) - placed(batch, layout(spec, horizon)).keys() == left_out
