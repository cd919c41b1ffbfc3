from logpersister.pipeline.job import RunningJobs
from logpersister.pipeline.work import RevisionWork, TaskSpec
from tests.unit.pipeline.fakes import work
from tests.unit.report.samples import NOON, Clock


def test_a_job_goes_forward_when_one_of_its_tasks_has_ended() -> None:
    clock, done = Clock(), {"a": 0, "b": 0}
    jobs = RunningJobs(clock.now)
    tasks = [TaskSpec("backup", (RevisionWork("0123456789ab", {}, (work(0, 10), work(10, 20))),)) for _ in range(2)]
    with jobs.running("a", tasks):
        clock.forward(5)
        with jobs.running("b", tasks[:1]):
            (first, second) = jobs.observe(done.__getitem__)
            assert (first.started_at, first.tasks, first.ranges) == (NOON, 2, 4)
            assert first.progress_at == NOON, "nothing has ended yet"
            assert (second.tasks, second.ranges) == (1, 2)
            assert first.estimated_bytes == 2 * second.estimated_bytes
            done["a"] = 1
            clock.forward(5)
            assert [job.progress_at for job in jobs.observe(done.__getitem__)] == [clock.now(), second.started_at]
            clock.forward(5)
        (first,) = jobs.observe(done.__getitem__)
        assert (first.progress_at, first.tasks_done) == (NOON.replace(second=10), 1), "that it is seen again is none"
    assert jobs.observe(done.__getitem__) == ()
