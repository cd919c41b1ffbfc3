"""Servers that go away and come back, and a library that complains: what the log says of it."""

import logging
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

import pytest
from structlog.testing import capture_logs

from logpersister.kafka_client.causes import Failure
from logpersister.member.outages import CALM_SECONDS, ConnectivityProbe, OutageMonitor
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
        self.monitor = OutageMonitor([probe], 6.0, self._tell, clock=lambda: self.now, wall=lambda: NOON)

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
    with logs.kafka_complaints.taken_by(made.monitor.complain):
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
