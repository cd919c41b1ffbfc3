"""The process of a member, before anything of it runs."""

import itertools
import time
import urllib.error
import urllib.request
from concurrent.futures import Future
from contextlib import AbstractContextManager
from typing import Any
from unittest.mock import Mock

import pytest
from structlog.testing import capture_logs

from logpersister.manifest.secrets import Secrets
from logpersister.member import process
from logpersister.member.process import ExitCode, Member, MemberOptions, Readiness, run_member
from logpersister.member.refusals import Refusals
from logpersister.member.reports import Reports
from logpersister.member.spark_watch import warm_up
from logpersister.member.target_offsets import UNREADABLE_SECONDS, TargetOffsets
from logpersister.pipeline.work import WorkError
from logpersister.registry import RegistryError
from logpersister.report.facts import Identity
from logpersister.report.health import Health
from logpersister.report.outages import Outage, Server
from logpersister.report.status import StatusBoard, utc_now
from logpersister.stopping import Stop
from tests.unit.manifest.documents import accepted
from tests.unit.member.fakes import CLICKS, TOPIC_ID, FakeDependencies, FakeSchemas
from tests.unit.member.test_cycle import begun, turn


def test_spark_is_not_waited_for_in_vain() -> None:
    broken: Future[int] = Future()
    broken.set_exception(ConnectionRefusedError("the JVM is gone"))
    stopped = Stop()
    stopped.asked = True
    with capture_logs() as logs:
        warm_up(broken, Stop())
        warm_up(Future(), Stop(), seconds=0.01)
        warm_up(Future(), stopped)
    assert [event["event"] for event in logs] == ["spark.not_warm"] * 2
    assert "the JVM is gone" in logs[0]["error"]


RESOURCE = accepted({"spec.kafka.bootstrapServers": "b:1"})


class StartedError(Exception):
    """Far enough."""


def status(address: str, path: str) -> int:
    try:
        with urllib.request.urlopen(f"http://{address}{path}", timeout=60) as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        return error.code


def test_a_member_that_starts_is_alive_and_not_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    answers: list[int] = []

    def assemble(*arguments: Any, **named: Any) -> AbstractContextManager[Any]:
        (served,) = (event for event in logs if event["event"] == "reports.served")
        answers.extend(status(served["address"], path) for path in ("/healthz", "/readyz"))
        raise StartedError

    monkeypatch.setattr(process, "assemble", assemble)
    with capture_logs() as logs, pytest.raises(StartedError):
        run_member(RESOURCE, Secrets(), MemberOptions(http="127.0.0.1:0"))

    assert answers == [200, 503]


def test_a_member_that_joins_says_for_whom_it_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that was killed keeps its place in the group until its session ends."""
    seconds = itertools.count(0.0, 3.0)
    monkeypatch.setattr(process, "time", Mock(monotonic=lambda: next(seconds), perf_counter=time.perf_counter))
    health, group, stop = Health(), Mock(joined=False), Stop()
    board = StatusBoard(Identity("g", 1, "r", "one", "0"))
    shown: list[str] = []

    def turn(**_: object) -> None:
        status = board.snapshot()
        shown.append(f"{status.state} {status.state_message}".strip())
        group.joined, stop.asked = len(shown) >= 4, len(shown) >= 6

    nothing = Mock(owned=list)
    cycle = Mock(turn=turn, seconds_to_next=lambda: 0.0, execution=Mock(jobs_in_flight=0), states=nothing)
    assembly, spark = Mock(cycle=cycle, group=group), Mock()
    member = Member(RESOURCE, assembly, spark, Mock(), board, Mock(), health, Readiness(health), stop)
    with capture_logs() as logs:
        member.run(until_current=False)
    assert shown[0] == "joining"
    assert "session of a member that ended without leaving" in shown[3]
    assert "up to 45s (spec.kafka.sessionTimeout)" in shown[3]
    assert shown[4] == "running"
    assert [event["event"] for event in logs][:2] == ["member.waits", "member.state"]


def test_a_member_is_ready_while_a_copy_is_away() -> None:
    health, group = Health(), Mock(joined=True)
    board = StatusBoard(Identity("g", 1, "r", "one", "0"))
    readiness = Readiness(health)
    readiness.looked.set(met=True)
    member = Member(RESOURCE, Mock(group=group), Mock(), Mock(), board, Mock(), health, readiness, Stop())
    servers: tuple[Server, ...] = ("copy", "registry")
    for server in servers:
        member.on_outages((Outage(server, "it is away", "mend it", "it is asked again", utc_now(), lasting=True),))
        assert [one.server for one in board.snapshot().outages] == [server]
        assert health.ready().ok == (server == "copy")


@pytest.mark.parametrize(
    ("asked_by", "kind", "reason"),
    [("cycle", "registry", "no-answer"), ("task", "registry", "no-answer"), ("task", "unauthorized", "unreadable")],
)
def test_a_run_that_ends_says_which_partitions_wait_for_a_registry_or_a_right(
    fakes: FakeDependencies, monkeypatch: pytest.MonkeyPatch, asked_by: str, kind: str, reason: str
) -> None:
    reports = Reports(Mock(), Mock())
    reports.refusals = Refusals(fakes.clock)
    if asked_by == "cycle":
        fakes.schemas = FakeSchemas()
        fakes.schemas.error = RegistryError("timeout", "it did not answer in time")
    cycle = begun(fakes, reports, clicks=5)
    turn(fakes, cycle)
    if asked_by == "task":
        (range_,) = fakes.jobs.ranges()
        fakes.jobs.end(errors={range_: WorkError(kind, "it did not answer, or refused")})
        turn(fakes, cycle)
    monkeypatch.setattr(process, "time", Mock(monotonic=fakes.clock))
    assembly = Mock(cycle=cycle, group=Mock(joined=True, register=fakes.register), offsets=fakes.offsets)
    health = Health()
    member = Member(RESOURCE, assembly, Mock(), reports, Mock(), Mock(), health, Readiness(health), Stop())
    targets = TargetOffsets({CLICKS: 5}, {"clicks": TOPIC_ID}, fakes.clock)
    assert member._current(targets) is None
    fakes.time += UNREADABLE_SECONDS
    with capture_logs() as logs:
        assert member._current(targets) is ExitCode.UNREACHABLE
    assert [(one["partition"], one["reason"]) for one in logs] == [("clicks-0", reason)]
