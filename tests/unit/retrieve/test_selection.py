"""Which objects a window meets, what counts, and where files are put."""

from typing import Any, cast

import pytest

from logpersister.records.type_folders import AnyFolders, folders_by_time
from logpersister.retrieve.selection import SamePlaceError, Selected, Wanted, Window, all_of, chosen, places, within
from logpersister.storage import names
from logpersister.storage.current import NONE, Current, Segment
from logpersister.storage.facts import ObjectFacts
from logpersister.storage.names import object_key
from logpersister.storage.store import ObjectStore
from tests.unit.finish.world import FakeStore
from tests.unit.manifest.documents import accepted
from tests.unit.records.test_time_folders import at

HOURS: list[Any] = [{"date": {"granularity": "day"}}, {"date": {"granularity": "hour"}}]


class Store(FakeStore):
    def inventory(self, topic: str) -> Any:
        for one in self.list_objects(names.topic_prefix(self.prefix, topic)):
            name = names.parse_object_key(self.prefix, one.key)
            if name is not None:
                yield name, one


def bucket(*paths: str, generations: tuple[int, ...] = (1,)) -> ObjectStore:
    store = Store()
    for path in paths:
        for generation in generations:
            store.put_object(object_key("raw", "clicks", path, generation, 0, 0, ".txt"), cast("ObjectFacts", None))
    return cast("ObjectStore", store)


def layout(*rules: Any, **spec: Any) -> AnyFolders:
    changes = {"spec.output": {"partitionBy": list(rules), "text": {}}} | {f"spec.{k}": v for k, v in spec.items()}
    found = folders_by_time(accepted(changes).spec)
    assert found is not None
    return found


def window(since: str | None, until: str | None) -> Window:
    return Window(None if since is None else at(since), None if until is None else at(until))


def paths(of: Selected) -> list[str]:
    return [one.path for one in of.objects]


@pytest.mark.parametrize(
    ("since", "until", "hours", "begin", "end"),
    [
        ("2026-11-21T01:30Z", "2026-11-21T02:10Z", ["01", "02"], "01:00Z", "03:00Z"),
        ("2026-11-21T01:00Z", "2026-11-21T02:00Z", ["01"], "01:00Z", "02:00Z"),
        ("2026-11-21T01:59:59.999Z", "2026-11-21T02:00:00.001Z", ["01", "02"], "01:00Z", "03:00Z"),
        ("2026-11-21T02:00Z", None, ["02", "03"], "02:00Z", "04:00Z"),
        (None, "2026-11-21T01:00Z", ["00"], "00:00Z", "01:00Z"),
        ("2026-11-22T02:00Z", None, [], None, None),
    ],
)
def test_a_window_is_rounded_to_whole_folders(
    since: str | None, until: str | None, hours: list[str], begin: str | None, end: str | None
) -> None:
    store = bucket(*(f"dt=2026-11-21/hr={hour:02d}" for hour in range(4)), "dt=unknown/hr=unknown", "_quarantine")
    found = within(store, "clicks", NONE, layout(*HOURS), window(since, until))
    assert paths(found) == [f"dt=2026-11-21/hr={hour}" for hour in hours]
    assert found.begin == (None if begin is None else at(f"2026-11-21T{begin}"))
    assert found.end == (None if end is None else at(f"2026-11-21T{end}"))


def test_days_of_a_time_zone() -> None:
    """The day on which clocks are set back has 25 hours."""
    day = {"date": {"granularity": "day", "timezone": "Europe/Berlin"}}
    store = bucket(*(f"dt=2026-10-{day}" for day in (24, 25, 26)))
    found = within(store, "clicks", NONE, layout(day), window("2026-10-25T22:30Z", "2026-10-25T22:40Z"))
    assert paths(found) == ["dt=2026-10-25"]
    assert (found.begin, found.end) == (at("2026-10-24T22:00Z"), at("2026-10-25T23:00Z"))


def test_minutes_of_the_hour_that_comes_twice() -> None:
    """A folder has records of both hours, so it is taken for all times between its first and its last."""
    rules = [{"date": {"granularity": one, "timezone": "Europe/Berlin"}} for one in ("day", "hour", "minute")]
    minutes = [f"dt=2026-10-25/hr=02/min={minute}" for minute in (10, 30, 50)]
    store = bucket("dt=2026-10-25/hr=01/min=59", *minutes, "dt=2026-10-25/hr=03/min=00")
    of = layout(*rules)
    assert paths(within(store, "clicks", NONE, of, window("2026-10-25T00:30Z", "2026-10-25T00:31Z"))) == minutes[:2]
    assert paths(within(store, "clicks", NONE, of, window("2026-10-25T01:10Z", "2026-10-25T01:11Z"))) == minutes


@pytest.mark.parametrize("granularity", ["year", "month", "day", "hour"])
def test_times_that_no_folder_has(granularity: str) -> None:
    name = {"year": "year=2028", "month": "month=2028-12", "day": "dt=2028-12-31", "hour": "hr=2028-12-31-23"}
    store, of = bucket(name[granularity]), layout({"date": {"granularity": granularity}})
    assert len(within(store, "clicks", NONE, of, window("0001-01-01T00:00Z", "9999-12-31T23:59Z")).objects) == 1
    assert len(within(store, "clicks", NONE, of, window(None, "2028-12-31T23:00:00.001Z")).objects) == 1
    assert not within(store, "clicks", NONE, of, window(None, "2028-01-01T00:00Z")).objects


def test_levels_above_and_below_and_records_that_came_late() -> None:
    rules = [{"offset": {"every": 100}}, HOURS[0], {"offset": {"every": 10}}]
    inner = [f"offset=0/dt=2026-11-{day}/offset=10" for day in (21, 22)]
    store = bucket(*inner, *(f"_late/{one}" for one in inner))
    found = within(store, "clicks", NONE, layout(*rules), window("2026-11-22T05:00Z", "2026-11-22T06:00Z"))
    assert paths(found) == [inner[1], f"_late/{inner[1]}"]
    only_late = bucket(f"_late/{inner[0]}")
    found = within(only_late, "clicks", NONE, layout(*rules), window("2026-11-21T05:00Z", None))
    assert (paths(found), found.begin) == ([f"_late/{inner[0]}"], at("2026-11-21T00:00Z"))


def test_each_type_has_its_own_rounding() -> None:
    entries = [
        {"names": ["order"], "output": {"text": {}, "partitionBy": HOURS}},
        {"names": ["refund"], "output": {"text": {}, "partitionBy": HOURS[:1]}},
    ]
    of = layout(types={"header": "type", "entries": entries})
    store = bucket(*(f"type=order/dt=2026-11-21/hr={hour:02d}" for hour in (4, 5, 6)), "type=refund/dt=2026-11-21")
    found = within(store, "clicks", NONE, of, window("2026-11-21T05:10Z", "2026-11-21T05:20Z"))
    assert sorted(paths(found)) == ["type=order/dt=2026-11-21/hr=05", "type=refund/dt=2026-11-21"]
    assert (found.begin, found.end) == (at("2026-11-21T00:00Z"), at("2026-11-22T00:00Z"))


def test_only_what_counts_and_never_quarantine() -> None:
    current = Current(None, {2: {0: (0, 10)}}, {0: (Segment(0, 10, 2),)})
    store = bucket("dt=2026-11-21", "dt=unknown", "_quarantine", "_late/dt=2026-11-20", generations=(1, 2))
    of = layout(HOURS[0])
    found = within(store, "clicks", current, of, window("2026-11-21T00:00Z", None))
    assert [one.key.rpartition("/")[2][0] for one in found.objects] == ["2"]
    every = all_of(store, "clicks", current, of)
    assert paths(every) == ["_late/dt=2026-11-20", "dt=2026-11-21", "dt=unknown"]
    assert {one.key.rpartition("/")[2][0] for one in every.objects} == {"2"}
    keys = [one.key for one in all_of(store, "clicks", NONE, None).objects]
    assert len(keys) == 6
    assert [one.key for one in chosen(store, "clicks", current, keys[:2]).objects] == keys[1:2]


@pytest.mark.parametrize(
    ("topics", "time", "expected"),
    [
        (False, False, "clicks/offset=0/dt=2026-11-21/country=DE/1_0_00000000000000000000.txt"),
        (True, False, "offset=0/dt=2026-11-21/country=DE/clicks_1_0_00000000000000000000.txt"),
        (False, True, "clicks/country=DE/offset=0_dt=2026-11-21_1_0_00000000000000000000.txt"),
        (True, True, "country=DE/clicks_offset=0_dt=2026-11-21_1_0_00000000000000000000.txt"),
    ],
)
def test_folders_that_are_left_out_begin_the_name(topics: bool, time: bool, expected: str) -> None:
    of = layout({"offset": {"every": 100}}, HOURS[0], {"offset": {"every": 10}})
    store = bucket("offset=0/dt=2026-11-21/country=DE")
    (one,) = all_of(store, "clicks", NONE, of).objects
    found = places("raw", [one], collapse_topics=topics, collapse_time=time)
    assert [str(place) for place in found.values()] == [expected]


def test_two_objects_are_never_one_file() -> None:
    same = [Wanted(f"raw/{topic}/{file}", 1, topic, "") for topic, file in (("a", "b_1_0_0"), ("a_b", "1_0_0"))]
    assert len(places("raw", same)) == 2
    with pytest.raises(SamePlaceError, match=r"would both be the file a_b_1_0_0"):
        places("raw", same, collapse_topics=True)
