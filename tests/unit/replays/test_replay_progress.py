"""How far a replay is."""

from datetime import timedelta

from logpersister_operator.crd.replay_status import Progress
from logpersister_operator.replays.replay_progress import completed, observed, summary
from tests.unit.kubernetes.samples import NOW
from tests.unit.replays.life import report

HOUR = timedelta(hours=1)


def test_processes_are_added_up_and_what_was_stored_stays() -> None:
    assert observed(None, [{}], NOW, NOW) is None
    first = observed(None, [report(100), report(50)], NOW, NOW)
    assert first == Progress(offsets=1000, stored=150, since=NOW, stored_before=150)
    second = observed(first, [report(100, stored_bytes=3600), report(250), {"replay": None}], NOW, NOW + HOUR)
    assert second is not None
    assert (second.stored, second.offsets_per_second, second.bytes_per_second) == (350, 0, 1)
    assert second.estimated_end == (NOW + HOUR * (1 + 650 / 200)).replace(microsecond=0)
    moved = observed(second, [report(20)], NOW, NOW + HOUR)  # partitions are between two owners
    assert moved is not None
    assert moved.stored == 350


def test_a_rate_is_of_the_time_since_the_last_pause() -> None:
    before = Progress(
        offsets=1000, stored=500, since=NOW, stored_before=0, estimated_end=NOW + HOUR, bytes_per_second=9
    )
    paused = observed(before, [], None, NOW + HOUR)
    assert paused == before.model_copy(update={"estimated_end": None, "bytes_per_second": 0})
    again = observed(paused, [report(500)], NOW + 9 * HOUR, NOW + 9 * HOUR)
    assert again is not None
    assert (again.since, again.stored_before, again.estimated_end) == (NOW + 9 * HOUR, 500, None)
    on = observed(again, [report(600)], NOW + 9 * HOUR, NOW + 9 * HOUR + timedelta(seconds=10))
    assert on is not None
    assert on.offsets_per_second == 10


def test_what_people_read() -> None:
    known = Progress(offsets=1000, stored=459, estimated_end=NOW + HOUR, bytes_per_second=12_900_000)
    words = summary(known, "Running", NOW)
    assert (words.progress, words.left, words.rate, words.state) == ("45%", "1h00m", "12.3MiB/s", "Running")
    done = completed(known)
    assert done is not None
    assert summary(done, "Stored", NOW).progress == "100%"
    assert (done.estimated_end, completed(None)) == (None, None)
    assert summary(Progress(offsets=0, stored=0), "Stored", NOW).progress == "100%"
