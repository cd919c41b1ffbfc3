"""Switching: all topics of a replay or none, back, and what is deleted."""

from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import cast

import pytest

from logpersister.cli import bucket, main
from logpersister.cli.exits import Exit
from logpersister.storage.current import change_current, get_current
from logpersister.storage.names import object_key
from logpersister.storage.replayed import ReplayNote, begin_replay, end_replay
from logpersister.storage.store import ListedObject, ObjectStore
from tests.unit.cli.test_run import written
from tests.unit.replay.bucket import Bucket

Capture = pytest.CaptureFixture[str]
GROUP = "backup"


def key(topic: str, generation: int, start: int) -> str:
    return object_key("raw", topic, "", generation, 0, start, ".txt")


def facts(generation: int, start: int, *, topic_id: str = "id") -> dict[str, str]:
    of_range = {"start": str(start), "end": str(start + 10), "first": str(start), "last": str(start + 9)}
    names = {"group": GROUP, "revision": "abc", "topic": "a", "topic-id": topic_id, "partition": "0", "checksum": "0"}
    return {**names, **of_range, "generation": str(generation), "records": "10", "tombstones": "0"}


def note(topic: str, generation: int = 2) -> ReplayNote:
    return ReplayNote(topic, "id", generation, "abc", {0: (0, 20)})


def begun(store: ObjectStore, *notes: ReplayNote) -> None:
    for one in notes:
        begin_replay(store, GROUP, one)
        change_current(store, GROUP, one.topic, lambda now, of=one: now.begun("id", of.generation, of.bounds))  # type: ignore[misc]


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> ObjectStore:
    """Two topics that were stored by members and again by a replay."""
    found = Bucket(
        {key(topic, it, at): (b"12345", facts(it, at)) for topic in "ab" for it in (1, 2) for at in (0, 10, 20)}
    )
    for topic in "ab":
        del found.objects[key(topic, 2, 20)]

    monkeypatch.setattr(bucket, "opened", lambda *_: nullcontext(found.store))
    return found.store


@pytest.fixture
def manifest(tmp_path: Path) -> str:
    return written(tmp_path / "backup.yaml", kafka__topics=["a", "b"])


def switch(manifest: str, generation: int, *options: str) -> int:
    return main(["switch", "-f", manifest, "--to-generation", str(generation), *options])


def counting(store: ObjectStore, topic: str) -> list[tuple[int, int]]:
    current = get_current(store, GROUP, topic)
    return sorted((name.start, name.generation) for name, _ in store.inventory(topic) if current.counts(name))


OLD, NEW = [(0, 1), (10, 1), (20, 1)], [(0, 2), (10, 2), (20, 1)]


def test_all_topics_of_a_replay_are_switched_and_back(store: ObjectStore, manifest: str) -> None:
    begun(store, note("a"), note("b"))
    for topic in "ab":
        end_replay(store, GROUP, note(topic))
        assert counting(store, topic) == OLD
    assert switch(manifest, 2, "--dry-run") == Exit.OK
    assert counting(store, "a") == OLD
    assert switch(manifest, 2) == Exit.OK
    assert [counting(store, topic) for topic in "ab"] == [NEW, NEW]
    assert switch(manifest, 1, "--topics", "b") == Exit.OK
    assert [counting(store, topic) for topic in "ab"] == [NEW, OLD]


def test_none_is_switched_while_one_is_not_finished(store: ObjectStore, manifest: str, capsys: Capture) -> None:
    begun(store, note("a"), note("b"))
    end_replay(store, GROUP, note("a"))
    assert switch(manifest, 2) == Exit.FAILED
    assert "topic b: the replay into generation 2 is not finished" in capsys.readouterr().err
    assert counting(store, "a") == OLD


def test_what_members_have_stored_and_does_not_count_is_deleted(
    store: ObjectStore, manifest: str, capsys: Capture
) -> None:
    begun(store, note("a"), note("a", 3))
    end_replay(store, GROUP, note("a"))
    everything = {listed.key for _, listed in store.inventory("a")}
    assert switch(manifest, 2, "--delete-old", "--dry-run") == Exit.OK
    assert "topic a: 2 objects (10 B) would be deleted" in capsys.readouterr().out
    assert {listed.key for _, listed in store.inventory("a")} == everything
    assert switch(manifest, 2, "--delete-old") == Exit.OK
    assert {listed.key for _, listed in store.inventory("a")} == everything - {key("a", 1, 0), key("a", 1, 10)}
    assert counting(store, "a") == NEW


@pytest.fixture
def another_begins(store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets another replay begin while topic `a` is being listed."""
    bucket, listing = cast("Bucket", store), cast("Bucket", store).list_objects

    def begins_now(prefix: str) -> Iterator[ListedObject]:
        if prefix == "raw/a/":
            begun(store, note("a", 3))
            bucket.objects[key("a", 3, 0)] = (b"", facts(3, 0))
        yield from listing(prefix)

    monkeypatch.setattr(bucket, "list_objects", begins_now)


@pytest.mark.usefixtures("another_begins")
def test_a_replay_that_begins_while_old_objects_are_deleted_keeps_its_own(store: ObjectStore, manifest: str) -> None:
    begun(store, note("a"))
    end_replay(store, GROUP, note("a"))
    assert switch(manifest, 2, "--delete-old") == Exit.OK
    stored = cast("Bucket", store).objects
    assert (key("a", 1, 0) in stored, key("a", 3, 0) in stored) == (False, True)


@pytest.mark.usefixtures("another_begins")
def test_a_listing_of_what_counts_is_refused_when_that_changes_meanwhile(manifest: str, capsys: Capture) -> None:
    command = ["ls", "-f", manifest, "--current", "--objects"]
    assert main(command) == Exit.FAILED
    assert "topic a: a replay or a switch has changed what counts" in capsys.readouterr().err
    assert main(command) == Exit.OK, "it is known now"
    assert "a/3_0_" not in capsys.readouterr().out


def test_what_was_deleted_is_not_switched_back_to(store: ObjectStore, manifest: str, capsys: Capture) -> None:
    begun(store, note("a"), note("b"))
    for topic in "ab":
        end_replay(store, GROUP, note(topic))
    assert switch(manifest, 2) == Exit.OK
    assert switch(manifest, 2, "--delete-old", "--topics", "b") == Exit.OK
    capsys.readouterr()
    for option in ([], ["--dry-run"], ["--delete-old"]):
        assert switch(manifest, 1, *option) == Exit.FAILED
    assert "what members had stored of partition 0 of topic b in [0, 20), so nothing would" in capsys.readouterr().err
    assert [counting(store, topic) for topic in "ab"] == [NEW, NEW], "all are switched, or none"
    assert switch(manifest, 1, "--topics", "a") == Exit.OK
    assert counting(store, "a") == OLD


def test_a_topic_that_was_made_again_is_switched_to_what_members_have_of_it(
    store: ObjectStore, manifest: str, capsys: Capture
) -> None:
    begun(store, note("a"))
    end_replay(store, GROUP, note("a"))
    assert switch(manifest, 2, "--delete-old") == Exit.OK
    cast("Bucket", store).objects[key("a", 3, 0)] = (b"", facts(3, 0, topic_id="new"))
    assert (0, 3) not in counting(store, "a")
    assert switch(manifest, 3) == Exit.OK
    assert (0, 3) in counting(store, "a")


@pytest.mark.parametrize(
    ("generation", "options", "told"),
    [
        (4, [], "--to-generation 4: topic a has no object of it; replays: 2"),
        (2, ["--topics", "c"], "--topics: c is no topic that spec.kafka selects"),
        (1, ["--topics", "b"], "no topic has a replay, so everything that is stored counts"),
    ],
)
def test_what_cannot_be_switched_is_said(
    store: ObjectStore, manifest: str, capsys: Capture, generation: int, options: list[str], told: str
) -> None:
    begun(store, note("a"))
    assert switch(manifest, generation, *options) != Exit.OK
    assert told in capsys.readouterr().err
