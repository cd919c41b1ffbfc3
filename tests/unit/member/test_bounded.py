"""A replay as a member sees it: a log with two ends, and only what its own generation has stored."""

from concurrent.futures import Future
from dataclasses import replace
from typing import cast

from logpersister.backup.ranges import BackupObject, partition_backups
from logpersister.member.bounded import BoundedLog, Replay, SourcedJobs
from logpersister.member.ports import Jobs, Offsets
from logpersister.pipeline.source import ReplaySource
from logpersister.pipeline.work import RangeOutcome, RangeWork, RevisionWork, TaskSpec
from logpersister.ranges import Range, TopicPartition
from logpersister.report.facts import ReplayProgress

P, Q = TopicPartition("t", 0), TopicPartition("t", 1)
BACKUP = partition_backups([BackupObject("one", Range(P, 0, 15), 1, 15, 0, 14)])
SOURCE = ReplaySource(None, kafka=True)
REPLAY = Replay("group-replay-2", {P: Range(P, 10, 20)}, SOURCE, BACKUP)


def test_the_log_begins_and_ends_where_the_replay_does() -> None:
    log = BoundedLog(cast("Offsets", None), REPLAY)
    assert (log.log_starts([P, Q]).values, log.ends([P, Q]).values) == ({P: 10, Q: 0}, {P: 20, Q: 0})
    assert REPLAY.begin_at([P, Q]) == {P: 10, Q: 0}


def test_tasks_have_the_source_and_what_the_backup_has_of_their_ranges() -> None:
    submitted: list[TaskSpec] = []

    class FakeJobs:
        cores = 3

        def submit(self, tasks: list[TaskSpec]) -> "Future[list[RangeOutcome]]":
            submitted.extend(tasks)
            return Future()

    jobs = SourcedJobs(cast("Jobs", FakeJobs()), REPLAY)
    works = tuple(RangeWork(range_, "id", 2, 0, range_.start) for range_ in (Range(P, 10, 20), Range(Q, 1, 2)))
    jobs.submit([TaskSpec("group", (RevisionWork("abc", {}, works),))])
    (task,) = submitted
    assert (jobs.cores, task.source) == (3, SOURCE)
    of_p, of_q = (work.backup for work in task.work)
    assert of_p is not None
    assert ([piece.range for piece in of_p.pieces], of_p.holes) == ([Range(P, 10, 15)], (Range(P, 15, 20),))
    assert of_q is not None
    assert (of_q.pieces, of_q.holes) == ((), (Range(Q, 1, 2),))


def test_tasks_share_what_a_replay_may_read_in_a_second() -> None:
    assert SOURCE.shared_by(3) is SOURCE
    shares = [replace(SOURCE, bytes_per_second=1000).shared_by(tasks).bytes_per_second for tasks in (1, 3, 2000)]
    assert shares == [1000, 333, 1]


def test_progress_is_of_the_bounds_and_of_partitions_that_are_known() -> None:
    replay = Replay("group", {P: Range(P, 10, 20), Q: Range(Q, 0, 5)}, SOURCE)
    cases: list[dict[TopicPartition, int]] = [{}, {P: 10}, {P: 14, Q: 0}, {P: 25, Q: 5}, {P: 3}]
    assert [replay.progress(one) for one in cases] == [ReplayProgress(15, stored) for stored in (0, 0, 4, 15, 0)]
