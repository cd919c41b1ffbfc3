"""Doors that open and close, and a library that complains: what the log says of it."""

import logging
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

import pytest
from structlog.testing import capture_logs

from logpersister.kafka_client.causes import Failure
from logpersister.member.outages import CALM_SECONDS, Door, OutageWatch
from logpersister.report import logs
from logpersister.report.outages import Outage

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
REFUSED = Failure("connection refused: nothing listens there", "check the port")


class Street:
    """Two brokers, a clock, and the watch over them."""

    def __init__(self) -> None:
        self.failures: dict[str, Failure] = {}
        self.now = 0.0
        self.told: tuple[Outage, ...] = ()
        door = Door("kafka", 2, self._knock)
        self.watch = OutageWatch([door], 6.0, self._tell, clock=lambda: self.now, wall=lambda: NOON)

    def _knock(self) -> Mapping[str, Failure]:
        return dict(self.failures)

    def _tell(self, outages: tuple[Outage, ...]) -> None:
        self.told = outages

    def look(self, after: float = 0.0) -> list[str]:
        """Look once, later; return the events that were logged."""
        self.now += after
        with capture_logs() as logged:
            self.watch.look()
        return [event["event"] for event in logged]


@pytest.fixture
def street(logging_as_before: None) -> Iterator[Street]:
    logs.configure("json")
    made = Street()
    with logs.kafka_complaints.taken_by(made.watch.complain):
        yield made


def test_one_broker_of_two_is_a_warning_and_no_outage(street: Street) -> None:
    street.failures["b:1"] = REFUSED
    logging.getLogger("kafka.net.connection").error("<Connection node_id=1>: Connection lost: [Errno 104]")
    assert street.look() == ["kafka.away"]
    assert street.told == ()
    assert street.look(after=1) == []
    street.failures.clear()
    assert street.look(after=11) == ["kafka.back"]
    assert street.look(after=CALM_SECONDS) == [], "the complaint is told by these two"


def test_an_outage_lasts_when_it_is_longer_than_the_session(street: Street) -> None:
    street.failures |= {"b:1": REFUSED, "b:2": REFUSED}
    assert street.look() == ["kafka.away", "kafka.away"]
    assert not street.told[0].lasting
    street.look(after=6)
    (outage,) = street.told
    assert outage.lasting
    assert str(outage).startswith("Kafka is away since 2026-11-21T12:00:00Z: b:1: connection refused: nothing listens")
    street.failures.pop("b:2")
    assert street.look(after=1) == ["kafka.back"]
    assert street.told == ()


def test_complaints_about_a_broker_that_is_not_known_are_summed_up(
    street: Street, capsys: pytest.CaptureFixture[str]
) -> None:
    library = logging.getLogger("kafka.coordinator")
    library.warning("Marking the coordinator dead (node %s) for group %s: %s.", 7, "clicks", "lost")
    assert street.look() == ["kafka.disturbed"]
    library.warning("Marking the coordinator dead (node %s) for group %s: %s.", 8, "clicks", "lost")
    assert street.look(after=1) == []
    assert street.look(after=CALM_SECONDS) == ["kafka.calm"]
    assert capsys.readouterr().err == ""
    library.error("Not authorized to commit offsets for group clicks")
    assert "Not authorized" in capsys.readouterr().err
    assert street.look() == []
