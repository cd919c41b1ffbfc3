"""Step by step: what is new on both sides is compared, once, and work does not grow with what is older."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from logpersister.member.shadow.comparer import Comparer
from logpersister.ranges import Offset, Range, TopicPartition
from logpersister.report.shadow import Both, ShadowReport
from logpersister.storage.losses import Loss
from tests.examples import examples
from tests.unit.member.shadow.samples import CLICKS, NOW, FakeGroup, FakeStore, Row, compared_group, rows

ORDERS = TopicPartition("orders", 3)
ALL = rows(*range(100))


def parity(row: Row) -> str:
    return f"p={row.offset % 2}"


class Scene:
    """Both groups, and the comparison of one member."""

    def __init__(
        self,
        *,
        in_folders: bool = False,
        same_layout: bool = True,
        remark: str = "",
        most: int = 1_000,
        has_quarantine: bool = False,
    ) -> None:
        self.stable = FakeGroup("backup", FakeStore("raw"))
        self.shadow = FakeGroup("backup-shadow", FakeStore("shadow"))
        if in_folders:
            self.stable.folder = self.shadow.folder = parity
        self.owned = {CLICKS, ORDERS}
        self.targets: Mapping[TopicPartition, Offset] = {}
        self.shown: list[ShadowReport] = []
        self.comparer = Comparer(
            compared_group(self.stable, in_folders=in_folders, most=most, has_quarantine=has_quarantine),
            compared_group(self.shadow, in_folders=in_folders, has_quarantine=has_quarantine),
            lambda: self.owned,
            same_layout=same_layout,
            remark=remark,
            now=lambda: NOW,
        )

    def compare_new(self) -> ShadowReport:
        def aim(targets: Mapping[TopicPartition, Offset]) -> None:
            self.targets = targets

        return self.comparer.compare_new(aim, self.shown.append)


@pytest.mark.parametrize("in_folders", [False, True])
def test_what_is_new_is_compared_look_by_look(in_folders: bool) -> None:
    scene = Scene(in_folders=in_folders)
    assert scene.compare_new() == ShadowReport(NOW)
    scene.stable.persist(ALL, 10, 40, 50, since=0)
    assert scene.compare_new() == ShadowReport(NOW)
    scene.shadow.persist(ALL, 10, 20, 30, 40, since=10)
    first = scene.compare_new()
    folders = 2 if in_folders else 1
    assert (first.partitions, first.figures.offsets, first.figures.ranges) == (1, 30, 3)
    assert first.figures.records == Both(30, 30)
    assert first.figures.objects == Both(folders, 3 * folders)
    assert first.figures.bytes == Both(300, 300)
    assert (first.figures.checksums_compared, first.figures.checksums_impossible) == (1, 0)
    assert (first.figures.differences, first.examples, first.error) == (0, (), None)
    assert scene.compare_new() == first

    scene.shadow.persist(ALL, 40, 50, since=10)
    assert scene.compare_new().figures.records == Both(40, 40)
    assert scene.shown[-1] == scene.comparer.report()


@pytest.mark.parametrize("most", [1_000, 3], ids=["listed", "guessed"])
@pytest.mark.parametrize("in_folders", [False, True])
def test_what_is_in_quarantine_is_compared_with_the_rest(in_folders: bool, most: int) -> None:
    scene = Scene(in_folders=in_folders, most=most, has_quarantine=True)
    beside = scene.stable.folder

    def folder(row: Row) -> str:
        return "_quarantine" if row.offset % 5 == 0 else beside(row)

    scene.stable.folder = scene.shadow.folder = folder
    scene.stable.persist(ALL, 0, 10, 20, 30, 40)
    scene.shadow.persist(ALL, 0, 20, 40)
    report = scene.compare_new()
    assert (report.error, report.figures.differences) == (None, 0)
    assert report.figures.records == Both(40, 40)

    scene.stable.persist(ALL, 40, 50)
    scene.shadow.folder = beside
    scene.shadow.persist(ALL, 40, 50)
    report = scene.compare_new()
    assert report.figures.differences == 1
    assert "of the stable group" in report.examples[0].message


def test_the_shadow_begins_where_the_stable_group_is_and_goes_as_far() -> None:
    scene = Scene()
    scene.stable.persist(ALL, 0, 40)
    assert scene.comparer.begin_at([CLICKS, ORDERS]) == {CLICKS: 40, ORDERS: None}
    scene.stable.progress.log_ends = {ORDERS: 7}
    scene.compare_new()
    assert scene.targets == {CLICKS: 40, ORDERS: 7}
    scene.stable.persist(ALL, 40, 60)
    scene.stable.progress.log_ends = {ORDERS: 9}
    scene.compare_new()
    assert scene.targets == {CLICKS: 60, ORDERS: 7}, "what the stable group does not store is stored once"


cuts = st.lists(st.integers(1, 99), max_size=8).map(lambda inner: sorted({0, 100, *inner}))


@examples(50)
@given(cuts, cuts, st.lists(st.booleans(), max_size=20), st.none() | st.integers(0, 99))
@example([0, 100], [0, 1, 100], [], 0)
@example([0, 100], [0, 99, 100], [], 99)
def test_whenever_it_looks_everything_is_compared_once(
    one: list[int], other: list[int], turns: list[bool], without: int | None
) -> None:
    scene = Scene(in_folders=True)
    left = [list(pairwise(one)), list(pairwise(other))]
    records = [ALL, [row for row in ALL if row.offset != without]]
    for turn in [*turns, *[False] * 9, *[True] * 9]:
        group = (scene.stable, scene.shadow)[turn]
        if left[turn]:
            group.persist(records[turn], *left[turn].pop(0))
            scene.compare_new()
    figures = scene.compare_new().figures
    assert figures.records == Both(100, 100 if without is None else 99)
    assert figures.offsets == 100
    stored = [(start, end) for start, end in pairwise(other) if (start, end) != (without, start + 1)]
    assert figures.ranges == len(stored), "a range without records makes no object"
    assert figures.differences == (0 if without is None else 1)


def test_a_difference_is_told_once_with_an_example() -> None:
    scene = Scene(remark=" (so it is)")
    scene.stable.persist(ALL, 0, 10, 20, 30)
    scene.shadow.persist([row for row in ALL if row.offset != 15], 0, 10, 20, 30)
    for _ in range(2):
        report = scene.compare_new()
        (example,) = report.examples
        assert (example.partition, example.start, example.end) == (CLICKS, 10, 20)
        assert example.message == "10 records of the stable group, 9 records of the shadow (so it is)"
        assert report.figures.differences == 1
        assert report.figures.records == Both(30, 29)
        assert (report.figures.checksums_compared, report.figures.checksums_impossible) == (2, 0)


def test_offsets_that_kafka_lost_between_the_two_are_left_out() -> None:
    for losers in ("stable", "shadow"):
        scene = Scene()
        scene.stable.persist(ALL, 0, 10, 20)
        scene.shadow.persist(ALL[:12], 0, 10, 20)
        loss = Loss(Range(CLICKS, 12, 20), "id", "lost", 1, "abcdef123456")
        getattr(scene, losers).losses.append(loss)
        figures = scene.compare_new().figures
        assert (figures.differences, figures.checksums_impossible, figures.records) == (0, 1, Both(10, 10))


@pytest.mark.parametrize(("compacts", "differences"), [(True, 0), (False, 1), (None, 1)])
def test_records_that_compaction_took_meanwhile_are_left_out(compacts: bool | None, differences: int) -> None:
    scene = Scene()
    scene.shadow.progress.compacts = compacts
    scene.stable.persist(ALL, 0, 10)
    scene.shadow.persist(ALL[5:], 0, 10)
    report = scene.compare_new()
    assert report.figures.differences == differences
    assert [example.message.partition("(")[2] for example in report.examples] == (
        [] if compacts else [""] if compacts is False else ["Kafka does not tell whether it compacts the topic)"]
    )
    scene.stable.persist(ALL[15:], 10, 20)
    scene.shadow.persist(ALL, 10, 20)
    assert scene.compare_new().figures.differences == differences + 1, "compaction takes records, it brings none"


def test_what_is_older_than_the_shadow_is_neither_listed_nor_asked() -> None:
    scene = Scene()
    scene.stable.persist(rows(*range(1_000)), *range(0, 1_001, 5), since=0)
    scene.shadow.persist([], 900, 900, since=900)
    report = scene.compare_new()
    for end in (950, 1_000):
        scene.shadow.persist(rows(*range(1_000)), end - 50, end, since=900)
        scene.stable.store.listed = 0
        report = scene.compare_new()
        assert scene.stable.store.listed <= 11
    assert report.figures.records == Both(100, 100)
    assert report.figures.objects == Both(20, 2)


def test_among_too_many_folders_those_of_the_shadow_are_looked_at() -> None:
    for same_layout in (True, False):
        scene = Scene(in_folders=True, same_layout=same_layout, most=20)
        scene.stable.persist(rows(*range(1_000)), *range(0, 1_001, 5), since=0)
        scene.shadow.persist(rows(*range(1_000)), 900, 1_000, since=900)
        report = scene.compare_new()
        assert report.figures.records == (Both(100, 100) if same_layout else Both())
        assert (report.error is None) == same_layout
        if report.error:
            assert report.error == "topic clicks: more than 20 objects would have to be listed at each look"


def test_a_topic_that_cannot_be_looked_at_does_not_hinder_others() -> None:
    scene = Scene()
    scene.stable.persist(ALL, 0, 10)
    scene.stable.persist(ALL, 0, 10, partition=ORDERS)
    scene.shadow.persist(ALL, 0, 10, partition=ORDERS)
    (damaged,) = scene.shadow.persist(ALL, 0, 10)
    whole = scene.shadow.store.found[damaged]
    scene.shadow.store.found[damaged] = replace(whole, checksum="damaged")
    report = scene.compare_new()
    assert report.error == f"topic clicks: object {damaged!r} is not whole"
    assert (report.partitions, report.figures.records) == (1, Both(10, 10))
    scene.shadow.store.found[damaged] = whole
    report = scene.compare_new()
    assert (report.error, report.partitions, report.figures.records) == (None, 2, Both(20, 20))


def test_partitions_take_their_figures_with_them_and_bring_them_back() -> None:
    """Another member of the shadow, and a restarted one, count what this one would."""
    scene = Scene()
    scene.stable.persist(ALL, 0, 10, 20, 30, since=0)
    scene.shadow.persist([row for row in ALL if row.offset != 15], 10, 20, 30, since=10)
    before = scene.compare_new()
    assert before.figures.differences == 1
    scene.owned = {ORDERS}
    assert scene.compare_new() == ShadowReport(NOW)
    scene.owned = {CLICKS}
    assert scene.compare_new() == before


def test_foreign_objects_and_other_generations_do_not_count() -> None:
    scene = Scene()
    scene.stable.persist(ALL, 0, 10)
    scene.shadow.persist(ALL, 0, 10)
    FakeGroup("somebody", scene.stable.store).persist(ALL[:3], 2, 10)
    FakeGroup("backup", scene.stable.store).persist(ALL, 0, 10, generation=7)
    report = scene.compare_new()
    assert (report.figures.records, report.figures.differences) == (Both(10, 10), 0)
