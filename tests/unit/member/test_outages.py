"""Servers that go away and come back, and a library that complains: what the log says of it."""

import logging
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import partial

import pytest
from structlog.testing import capture_logs

from logpersister.kafka_client.causes import Failure
from logpersister.member.outages import CALM_SECONDS, ConnectivityProbe, OutageMonitor
from logpersister.member.refusals import Refusals
from logpersister.report import logs
from logpersister.report.outages import Outage

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
REFUSED = Failure("connection refused: nothing listens there", "check the port")


class Surroundings:
    """Two brokers, a clock, and the monitor of them."""

    def __init__(self) -> None:
        self.failures: dict[str, Failure] = {}
        self.now = 0.0
        self.told: tuple[Outage, ...] = ()
        probe = ConnectivityProbe("kafka", 2, self._find_unreachable)
        self.refusals = Refusals(clock=lambda: self.now, wall=lambda: NOON)
        self.monitor = OutageMonitor(
            [probe], 6.0, self._tell, self.refusals.outages, clock=lambda: self.now, wall=lambda: NOON
        )

    def _find_unreachable(self) -> Mapping[str, Failure]:
        return dict(self.failures)

    def _tell(self, outages: tuple[Outage, ...]) -> None:
        self.told = outages

    def check(self, after: float = 0.0) -> list[str]:
        """Look once, later; return the events that were logged."""
        self.now += after
        with capture_logs() as logged:
            self.monitor.check()
        return [event["event"] for event in logged]


@pytest.fixture
def surroundings(logging_as_before: None) -> Iterator[Surroundings]:
    logs.configure("json")
    made = Surroundings()
    with logs.kafka_complaints.taken_by(made.monitor.complain, partial(made.refusals.failed, "kafka", is_cause=True)):
        yield made


def test_one_broker_of_two_is_a_warning_and_no_outage(surroundings: Surroundings) -> None:
    surroundings.failures["b:1"] = REFUSED
    logging.getLogger("kafka.net.connection").error("<Connection node_id=1>: Connection lost: [Errno 104]")
    assert surroundings.check() == ["kafka.away"]
    assert surroundings.told == ()
    assert surroundings.check(after=1) == []
    surroundings.failures.clear()
    assert surroundings.check(after=11) == ["kafka.back"]
    assert surroundings.check(after=CALM_SECONDS) == [], "the complaint is told by these two"


def test_an_outage_lasts_when_it_is_longer_than_the_session(surroundings: Surroundings) -> None:
    surroundings.failures |= {"b:1": REFUSED, "b:2": REFUSED}
    assert surroundings.check() == ["kafka.away", "kafka.away"]
    assert not surroundings.told[0].lasting
    surroundings.check(after=6)
    (outage,) = surroundings.told
    assert outage.lasting
    assert str(outage).startswith("Kafka is away since 2026-11-21T12:00:00Z: b:1: connection refused: nothing listens")
    surroundings.failures.pop("b:2")
    assert surroundings.check(after=1) == ["kafka.back"]
    assert surroundings.told == ()


def test_complaints_about_a_broker_that_is_not_known_are_summed_up(
    surroundings: Surroundings, capsys: pytest.CaptureFixture[str]
) -> None:
    library = logging.getLogger("kafka.coordinator")
    library.warning("Marking the coordinator dead (node %s) for group %s: %s.", 7, "clicks", "lost")
    assert surroundings.check() == ["kafka.disturbed"]
    library.warning("Marking the coordinator dead (node %s) for group %s: %s.", 8, "clicks", "lost")
    assert surroundings.check(after=1) == []
    assert surroundings.check(after=CALM_SECONDS) == ["kafka.calm"]
    assert capsys.readouterr().err == ""
    library.error("Not authorized to commit offsets for group clicks")
    assert "Not authorized" in capsys.readouterr().err
    assert surroundings.check() == []


def test_a_login_that_is_refused_for_a_minute_is_an_outage_though_brokers_answer(surroundings: Surroundings) -> None:
    library = logging.getLogger("kafka.net.connection")
    for _ in range(13):
        assert surroundings.told == ()
        library.error("Connection failed: SaslAuthenticationFailedError: Authentication failed")
        assert surroundings.check(after=5) == [], "it is in the log as it is"
        surroundings.refusals.failed("kafka", "the connection to a broker broke")
    surroundings.check()
    (outage,) = surroundings.told
    assert (outage.server, outage.lasting, outage.since) == ("kafka", True, NOON)
    assert "Authentication failed" in outage.reason
    surroundings.failures |= {"b:1": REFUSED, "b:2": REFUSED}
    surroundings.check()
    assert [one.reason for one in surroundings.told] == ["b:1: connection refused: nothing listens there"]
    surroundings.failures.clear()
    surroundings.check(after=61)
    assert surroundings.told == (), "no login has been refused since"


def test_a_bucket_that_refuses_and_a_registry_of_one_topic_are_outages_until_they_work(
    surroundings: Surroundings,
) -> None:
    refusals = surroundings.refusals
    for _ in range(3):
        refusals.failed("bucket", "AccessDenied")
        refusals.failed("registry", "401", "clicks")
        refusals.worked("registry", "orders")
        surroundings.check(after=30)
    assert {one.server: one.reason for one in surroundings.told} == {"bucket": "AccessDenied", "registry": "401"}
    refusals.worked("bucket")
    refusals.worked("registry", "clicks")
    surroundings.check()
    assert surroundings.told == ()
    refusals.failed("bucket", "AccessDenied")
    surroundings.check(after=120)
    assert surroundings.told == (), "it failed once, and is perhaps not asked any more"
    for number in range(30):
        refusals.failed("registry", "silent", f"topic-{number}")
        surroundings.check(after=20)
    (outage,) = surroundings.monitor.away()
    assert outage.reason == "silent", "each of many topics is seldom asked about"
