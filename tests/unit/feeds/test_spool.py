"""The spool: bounded, in order, whole after a cut at any byte and after kill -9."""

import errno
import os
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logpersister.feeds.spool import Spool, SpoolTakenError, WhenFull

MIB = 2**20
PAYLOADS = st.lists(st.binary(min_size=0, max_size=200), min_size=1, max_size=20)


def opened(directory: Path, size: int = MIB, when_full: WhenFull = "dropOldest") -> Spool:
    return Spool(directory, size, when_full)


def everything(spool: Spool) -> list[bytes]:
    return [payload for _, payload in spool.read(0, MIB)]


@settings(deadline=None, max_examples=30)
@given(st.lists(PAYLOADS, min_size=1, max_size=5), st.data())
def test_what_is_appended_is_read_in_order_until_it_is_released(
    tmp_path_factory: pytest.TempPathFactory, batches: list[list[bytes]], data: st.DataObject
) -> None:
    directory = tmp_path_factory.mktemp("spool")
    every = [payload for batch in batches for payload in batch]
    with closing(opened(directory, 32 * 1024)) as spool:  # segments of 2 KiB
        for batch in batches:
            assert spool.append(batch) == []
        read: list[tuple[int, bytes]] = []
        while found := spool.read(read[-1][0] + 1 if read else 0, 300):
            read += found
        assert [payload for _, payload in read] == every
        released = data.draw(st.integers(0, len(every)))
        if released:
            spool.release(read[released - 1][0])
        assert everything(spool) == every[released:]
        assert spool.fill.entries == len(every) - released
    with closing(opened(directory, 32 * 1024)) as again:
        assert everything(again) == every[released:]
        again.append([b"later"])
        assert everything(again) == [*every[released:], b"later"]


def test_a_cut_at_any_byte_leaves_the_entries_before_it(tmp_path: Path) -> None:
    payloads = [b"one", b"", b"three" * 5]
    spool = opened(tmp_path)
    spool.append(payloads)
    spool.close()
    [segment] = tmp_path.glob("*.spool")
    whole = segment.read_bytes()
    ends = [0]
    for payload in payloads:
        ends.append(ends[-1] + 16 + len(payload))
    for size in range(len(whole) + 1):
        segment.write_bytes(whole[:size])
        (tmp_path / "released").unlink(missing_ok=True)
        cut = opened(tmp_path)
        kept = sum(end <= size for end in ends[1:])
        assert everything(cut) == payloads[:kept], size
        cut.append([b"later"])
        assert everything(cut) == [*payloads[:kept], b"later"], size
        cut.close()
        for one in tmp_path.glob("*.spool"):
            one.unlink()
        segment.write_bytes(whole)


@settings(deadline=None, max_examples=50)
@given(st.data())
def test_a_changed_byte_is_no_entry(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    directory = tmp_path_factory.mktemp("spool")
    spool = opened(directory)
    spool.append([b"first", b"second"])
    spool.close()
    [segment] = directory.glob("*.spool")
    content = bytearray(segment.read_bytes())
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] ^= data.draw(st.integers(1, 255))
    segment.write_bytes(content)
    found = opened(directory)
    assert everything(found) == ([] if place < 16 + 5 else [b"first"])
    found.close()


def test_when_it_is_full_the_oldest_go(tmp_path: Path) -> None:
    spool = opened(tmp_path, 16 * 1024, "dropOldest")
    payloads = [b"%05d" % number + bytes(495) for number in range(100)]
    for payload in payloads:
        assert spool.append([payload]) == []
        assert sum(one.stat().st_size for one in tmp_path.glob("*.spool")) <= 16 * 1024
    kept = everything(spool)
    assert kept == payloads[-len(kept) :]
    assert len(kept) >= 28
    assert spool.fill.dropped == 100 - len(kept)
    spool.close()


def test_when_it_is_full_the_newest_stay_out(tmp_path: Path) -> None:
    spool = opened(tmp_path, 16 * 1024, "dropNewest")
    payloads = [b"%05d" % number + bytes(495) for number in range(40)]
    dropped = spool.append(payloads)
    kept = 16 * 1024 // 516
    assert dropped == list(range(kept, 40))
    assert everything(spool) == payloads[:kept]
    spool.release(spool.read(0, MIB)[-1][0])
    assert spool.append([b"again"]) == []
    assert everything(spool) == [b"again"]
    spool.close()


def test_what_is_larger_than_all_of_it_is_dropped_alone(tmp_path: Path) -> None:
    spool = opened(tmp_path, 1024)
    assert spool.append([b"small", bytes(2000), b"also small"]) == [1]
    assert everything(spool) == [b"small", b"also small"]
    spool.close()


def test_what_is_released_leaves_the_disk(tmp_path: Path) -> None:
    spool = opened(tmp_path, 16 * 1024)
    spool.append([bytes(500)] * 20)
    assert len(list(tmp_path.glob("*.spool"))) > 5
    spool.release(spool.read(0, MIB)[-1][0])
    assert list(tmp_path.glob("*.spool")) == []
    spool.close()


def test_who_asks_for_the_oldest_does_not_disturb_who_reads(tmp_path: Path) -> None:
    spool = opened(tmp_path)
    oldest = [spool.oldest]
    spool.append([b"1", b"2", b"3", b"4"])
    [(first, _), (second, _)] = spool.read(0, 2)
    spool.release(first)
    oldest.append(spool.oldest)
    assert oldest == [None, b"2"]
    assert [payload for _, payload in spool.read(second + 1, MIB)] == [b"3", b"4"]
    spool.close()


def test_two_processes_do_not_share_it(tmp_path: Path) -> None:
    spool = opened(tmp_path)
    with pytest.raises(SpoolTakenError):
        opened(tmp_path)
    spool.close()
    opened(tmp_path).close()


def test_a_disk_that_fails_loses_what_it_fails_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spool = opened(tmp_path)
    spool.append([b"before"])
    write = os.write

    def half(file: int, data: bytes) -> int:
        if b"bad" in data:
            raise OSError(28, "No space left on device")
        return write(file, data[:7])

    monkeypatch.setattr(os, "write", half)
    assert spool.append([b"good", b"bad", b"good again"]) == [1]
    assert everything(spool) == [b"before", b"good", b"good again"]
    assert spool.fill.dropped == 1
    spool.close()


WRITER = """
import sys
from contextlib import closing
from pathlib import Path
from logpersister.feeds.spool import Spool
spool = Spool(Path(sys.argv[1]), 2**24, "dropOldest")
for number in range(10**6):
    spool.append([b"%d-%d" % (number, place) + bytes(100) for place in range(3)])
    print(number, flush=True)
"""


def test_what_was_said_to_be_there_is_there_after_kill_9(tmp_path: Path) -> None:
    for turn in range(3):
        directory = tmp_path / str(turn)
        writer = subprocess.Popen([sys.executable, "-c", WRITER, str(directory)], stdout=subprocess.PIPE, text=True)
        assert writer.stdout is not None
        said = [int(writer.stdout.readline()) for _ in range(20 + 15 * turn)]
        writer.send_signal(signal.SIGKILL)
        said += [int(line) for line in writer.stdout.read().split("\n") if line]
        writer.stdout.close()
        writer.wait()
        spool = opened(directory, 2**24)
        kept = [payload.rstrip(b"\0") for payload in everything(spool)]
        spool.close()
        promised = [b"%d-%d" % (number, place) for number in said for place in range(3)]
        assert kept[: len(promised)] == promised
        assert len(kept) <= len(promised) + 3


@pytest.mark.parametrize("harm", ["flip", "cut", "remove"])
def test_what_is_damaged_while_it_waits_is_counted_once_and_passed_over(tmp_path: Path, harm: str) -> None:
    with closing(opened(tmp_path)) as spool:
        spool.append([b"one", b"two", b"three"])
        [segment] = tmp_path.glob("*.spool")
        if harm == "flip":
            segment.write_bytes(segment.read_bytes()[:-1] + b"E")
        elif harm == "cut":
            os.truncate(segment, segment.stat().st_size - 9)
        else:
            segment.unlink()
        kept = [] if harm == "remove" else [b"one", b"two"]
        assert everything(spool) == kept
        assert everything(spool) == kept
        assert (spool.fill.dropped, spool.fill.entries) == (3 - len(kept), len(kept))
        spool.append([b"four"])
        assert everything(spool) == [*kept, b"four"]
        spool.release(spool.read(0, MIB)[-1][0])
        assert spool.fill.entries == 0
    with closing(opened(tmp_path)) as again:
        assert everything(again) == []


def test_a_note_that_is_damaged_loses_nothing(tmp_path: Path) -> None:
    with closing(opened(tmp_path)) as spool:
        spool.append([b"one", b"two", b"three"])
        spool.release(0)
    note = tmp_path / "released"
    whole = note.read_bytes()
    for place in range(len(whole)):
        for sign in b"0159 x\xff":
            note.write_bytes(whole[:place] + bytes([sign]) + whole[place + 1 :])
            with closing(opened(tmp_path)) as spool:
                assert everything(spool)[-2:] == [b"two", b"three"], note.read_bytes()


def test_files_of_others_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.spool").write_text("hello")
    with closing(opened(tmp_path)) as spool:
        spool.append([b"one"])
        assert everything(spool) == [b"one"]
    assert (tmp_path / "mine.spool").read_text() == "hello"


def test_a_disk_that_takes_and_removes_nothing_ends_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    with closing(opened(tmp_path)) as spool:
        spool.append([b"one", b"two"])
        for name in ("unlink", "write_text"):
            monkeypatch.setattr(Path, name, refuse)
        spool.release(1)
        assert spool.fill.entries == 0
    monkeypatch.undo()
