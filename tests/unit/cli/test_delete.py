"""Deleting by time: whole ranges only, noted before the first object goes, and the same command goes on."""

import copy
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import pytest
import yaml

from logpersister.cli import bucket, main
from logpersister.cli.exits import Exit
from logpersister.storage.deletions import list_deletions
from logpersister.storage.names import object_key, parse_object_key
from logpersister.storage.replayed import ReplayNote, begin_replay
from tests.stack.artifacts import ROOT
from tests.unit.cli.test_run import written
from tests.unit.replay.bucket import Bucket, KilledError

Capture = pytest.CaptureFixture[str]
GROUP = "backup"
PATHS = ("dt=2026-11-20", "dt=2026-11-21", "dt=2026-11-22")
UNTIL = "2026-11-22T00:00:00Z"
ATTEMPT = "0123456789abcdef"


def facts_key(key: str) -> str:
    return f"raw/_logpersister/{GROUP}/facts/{key.removeprefix('raw/')}.{ATTEMPT}.json"


def put(found: Bucket, start: int, *paths: str, topic: str = "a", generation: int = 1, group: str = GROUP) -> None:
    """Store a range of ten offsets, with an object in each of its folders."""
    for path in paths:
        key = object_key("raw", topic, path, generation, 0, start, ".txt")
        numbers = {"generation": generation, "partition": 0, "start": start, "end": start + 10}
        said = {"group": group, "revision": "abc", "topic": topic, "topic-id": "id", "facts": ATTEMPT}
        found.objects[key] = b"12345", said | {name: str(value) for name, value in numbers.items()}
        found.objects[facts_key(key)] = b"{}", {}


@pytest.fixture
def stored() -> Bucket:
    """Two days, of which the second range has records of both, and a third day."""
    found = Bucket()
    for generation in (1, 2):
        put(found, 0, PATHS[0], generation=generation)
        put(found, 10, PATHS[0], PATHS[1], generation=generation)
    put(found, 20, PATHS[1], "_late/dt=2026-11-20")
    put(found, 30, PATHS[1], PATHS[2])
    put(found, 40, PATHS[1], "_quarantine")
    put(found, 50, PATHS[1], group="another")
    put(found, 60, PATHS[2])
    put(found, 20, PATHS[2], generation=2)
    put(found, 0, PATHS[0], topic="b")
    return found


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    days = {"text": {}, "partitionBy": [{"date": {"granularity": "day"}}]}
    manifest = written(tmp_path / "backup.yaml", kafka__topics=["a", "b"], storage__prefix="raw", output=days)

    def delete(found: Bucket, *options: str, until: str = UNTIL) -> int:
        monkeypatch.setattr(bucket, "opened", lambda *_: nullcontext(found))
        return main(["delete", "-f", manifest, "--to", until, *options])

    return delete


def ranges(found: Bucket, topic: str = "a") -> set[tuple[int, int]]:
    names = (parse_object_key("raw", key) for key in found.objects)
    return {(one.generation, one.start) for one in names if one is not None and one.topic == topic}


def noted(found: Bucket, topic: str = "a") -> dict[int, list[tuple[int, int]]]:
    (note,) = list_deletions(found.store, GROUP, topic)
    return {generation: list(partitions[0]) for generation, partitions in note.ranges.items()}


KEPT = {(1, 30), (1, 40), (1, 50), (1, 60), (2, 20)}


def test_whole_ranges_are_deleted_in_all_generations(run: Any, stored: Bucket, capsys: Capture) -> None:
    assert run(stored, "--yes") == Exit.OK
    assert ranges(stored) == KEPT
    assert {key for key in stored.objects if "/facts/" in key} == {
        facts_key(key) for key in stored.objects if "_logpersister" not in key
    }
    assert noted(stored) == {1: [(0, 30)], 2: [(0, 20)]}
    out = capsys.readouterr().out
    rows = {line.split()[0]: line.split()[1:] for line in out.splitlines()[1:3]}
    assert rows == {"a": ["5", "8", "40", "B", "2"], "b": ["0", "0", "0", "B", "1"]}
    assert "kept: 1 range (records outside of the window, too)\n" in out
    assert "kept: 1 range (refused records" in out
    assert "kept: 1 range (the newest of a partition" in out
    assert "kept: 1 object of other groups or programs" in out
    assert out.endswith("8 objects deleted\n")
    assert ranges(stored, "b") == {(1, 0)}
    assert list(list_deletions(stored.store, GROUP, "b")) == []


@pytest.mark.parametrize("level", [[], [{"key": {}}]], ids=["by date", "by date and key"])
def test_an_archive_goes_with_the_last_object_of_its_folder(
    run: Any, tmp_path: Path, capsys: Capture, level: list[Any]
) -> None:
    found = Bucket()
    assert run(found, "--dry-run") == Exit.OK  # the bucket is opened
    below = ["/key=x", "/key=y"] if level else [""]
    for start, path in ((0, "dt=2026-11-20"), (10, "dt=2026-11-21"), (20, "dt=2026-11-21"), (30, "dt=2026-11-22")):
        put(found, start, *(path + one for one in below))
    put(found, 20, "_quarantine")
    days = {path: f"raw/a/_archives/{path}/a_{path}.tar.gz" for path in ("dt=2026-11-18", "dt=2026-11-19", *PATHS)}
    for path, key in days.items():  # of the first two days no object is left
        found.objects[key] = b"tar", {"group": "another" if path == "dt=2026-11-18" else GROUP}
    manifest = written(
        tmp_path / "archives.yaml",
        kafka__topics=["a"],
        storage__prefix="raw",
        output={"archive": {}, "partitionBy": [{"date": {"granularity": "day"}}, *level]},
        finish={"policy": ["archive"]},
    )
    assert main(["delete", "-f", manifest, "--to", UNTIL, "--yes"]) == Exit.OK
    out = capsys.readouterr().out
    objects = 2 * len(below)
    assert f"{objects} objects and 2 archives, {5 * objects + 6} B to be deleted\n" in out
    assert "kept: 1 archive, with all records (objects of their folders stay)\n" in out
    assert "kept: 1 object of other groups or programs\n" in out
    assert {path for path, key in days.items() if key in found.objects} == {"dt=2026-11-18", *PATHS[1:]}


def test_a_window_has_a_begin_and_topics(run: Any, stored: Bucket) -> None:
    assert run(stored, "--yes", "--from", "2026-11-21T00:00:00Z", "--topics", "a") == Exit.OK
    assert ranges(stored) >= {(1, 0), (1, 10), (1, 20)}, "they have records of the day before"
    assert run(stored, "--yes", "--from", "2026-11-20T00:00:00Z") == Exit.OK
    assert ranges(stored) == KEPT


@pytest.mark.slow
def test_what_was_noted_goes_wherever_the_command_ends(run: Any, stored: Bucket) -> None:
    whole = copy.deepcopy(stored)
    assert run(whole, "--yes") == Exit.OK
    before = set(stored.objects)
    for number in range(1, whole.requests + 1):
        for done in (False, True):
            found = copy.deepcopy(stored)
            found.requests, found.dies_at = 0, (number, done)
            with suppress(KilledError):  # what only asks has done nothing that it could die behind
                run(found, "--yes")
            gone = {parse_object_key("raw", key) for key in before - set(found.objects)} - {None}
            notes = list(list_deletions(found.store, GROUP, "a"))
            assert all(any(note.has_object(one) for note in notes) for one in gone if one is not None)
            found.dies_at = None
            assert run(found, "--yes") == Exit.OK
            assert set(found.objects) == set(whole.objects)
            assert noted(found) == noted(whole)


def test_nothing_goes_without_a_word(run: Any, stored: Bucket, capsys: Capture) -> None:
    before = dict(stored.objects)
    assert run(stored, "--dry-run") == Exit.OK
    assert "8 objects, 40 B to be deleted\n" in capsys.readouterr().out
    assert run(stored) == Exit.INVALID
    assert "--yes: is needed where nobody can be asked; nothing was deleted" in capsys.readouterr().err
    assert run(stored, "--topics", "c") == Exit.INVALID
    assert run(stored, "--yes", "--from", UNTIL) == Exit.INVALID
    begin_replay(stored.store, GROUP, ReplayNote("b", "id", 3, "abc", {0: (0, 10)}))
    assert run(stored, "--yes") == Exit.FAILED
    assert "topic b: the replay into generation 3 is not finished" in capsys.readouterr().err
    assert {key for key in stored.objects if "/replayed/" not in key} == before.keys()


@pytest.mark.parametrize(("answer", "code"), [("y\n", Exit.OK), ("\n", Exit.FAILED)])
def test_a_person_is_asked(
    run: Any, stored: Bucket, monkeypatch: pytest.MonkeyPatch, capsys: Capture, answer: str, code: Exit
) -> None:
    class Terminal:
        @staticmethod
        def isatty() -> bool:
            return True

        @staticmethod
        def readline() -> str:
            return answer

    monkeypatch.setattr("sys.stdin", Terminal)
    assert run(stored) == code
    assert "Delete 8 objects of s3://logs/raw for good? [y/N]" in capsys.readouterr().out
    assert (ranges(stored) == KEPT) == (code is Exit.OK)


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ({"output": {"text": {}}}, "topic a: has no folders by time"),
        (yaml.safe_load((ROOT / "examples" / "hive-table.yaml").read_text())["spec"], "an engine deletes their rows"),
    ],
)
def test_what_cannot_be_deleted_by_time(
    tmp_path: Path, stored: Bucket, run: Any, capsys: Capture, spec: dict[str, Any], told: str
) -> None:
    assert run(stored, "--dry-run") == Exit.OK  # the bucket is opened
    manifest = written(tmp_path / "other.yaml", **{**spec, "kafka": {"bootstrapServers": "b:1", "topics": ["a"]}})
    assert main(["delete", "-f", manifest, "--to", UNTIL, "--yes"]) == Exit.INVALID
    assert told in capsys.readouterr().err
