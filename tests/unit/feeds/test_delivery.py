"""From polls to Kafka: what is dropped is forgotten, what is refused fails nothing else, order stays."""

import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self, cast

import pytest
from structlog.testing import capture_logs

from logpersister.feeds.intake import Intake
from logpersister.feeds.record import Record, encode
from logpersister.feeds.sender import Sender
from logpersister.feeds.spool import Spool, WhenFull
from logpersister.kafka_client.producer import NotDeliveredError
from logpersister.kafka_client.stream import Stream
from tests.integration.harness.waiting import eventually

TOO_LARGE = "the broker answers MESSAGE_SIZE_TOO_LARGE"


class Beats:
    def __init__(self) -> None:
        self.count = 0

    def beat(self) -> None:
        self.count += 1


@dataclass
class Broker:
    """A topic that never takes values that begin with `bad`; streams fail what is sent beside one, as Kafka's do."""

    taken: list[bytes] = field(default_factory=list)
    away: bool = False
    silent: bool = False
    connections: int = 0
    fails_after: int | None = None
    """Records that it takes until it fails once."""

    def connect(self, wake: Callable[[], object]) -> Stream:
        self.connections += 1
        if self.away:
            raise NotDeliveredError("no broker is connected yet")
        return cast("Stream", BrokerStream(self, wake))


class BrokerStream:
    def __init__(self, broker: Broker, wake: Callable[[], object]) -> None:
        self._broker = broker
        self._wake = wake
        self._sent: list[tuple[int, bytes]] = []
        self.bytes = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def __len__(self) -> int:
        return len(self._sent)

    @property
    def waits_since(self) -> float | None:
        return 0.0 if self._sent and self._broker.silent else None

    def send(self, number: int, key: bytes, value: bytes, headers: Any, timestamp: int) -> None:
        self._sent.append((number, value))
        self._wake()

    def settled(self) -> Iterator[tuple[int, str | None]]:
        is_poisoned = any(value.startswith(b"bad") for _, value in self._sent)
        while self._sent and not self._broker.silent:
            if self._broker.fails_after == 0 or self._broker.away:
                self._broker.fails_after = None
                raise NotDeliveredError("no broker has answered within the time")
            if self._broker.fails_after is not None:
                self._broker.fails_after -= 1
            number, value = self._sent.pop(0)
            if not is_poisoned:
                self._broker.taken.append(value)
            yield number, TOO_LARGE if is_poisoned else None


@pytest.fixture
def spool(tmp_path: Path) -> Iterator[Spool]:
    with closing(Spool(tmp_path / "spool", 2**20, "dropOldest")) as one:
        yield one


def records(*values: bytes) -> list[bytes]:
    return [encode(Record("feed", value, 0)) for value in values]


def sent(spool: Spool, broker: Broker, grace: float = 30.0) -> Sender:
    """Run a sender until all is sent, or the grace is over."""
    sender = Sender(spool, broker.connect, Beats())
    sender.thread.start()
    sender.close(grace)
    return sender


def test_records_that_brokers_never_take_fail_no_others(spool: Spool) -> None:
    values = [b"1", b"bad", b"2", b"3", b"bad too", b"4"]
    spool.append(records(*values))
    broker = Broker()
    counts = sent(spool, broker).counts
    assert broker.taken == [b"1", b"2", b"3", b"4"]
    assert (counts.sent, counts.refused) == (4, 2)
    assert spool.fill.entries == 0


def test_a_failure_sends_again_from_the_first_that_did_not_arrive(spool: Spool) -> None:
    values = [b"%d" % number for number in range(10)]
    spool.append(records(*values))
    broker = Broker(fails_after=4)
    counts = sent(spool, broker).counts
    assert broker.taken == values
    assert broker.connections == 2
    assert counts.away is None


@pytest.mark.parametrize(
    ("fault", "connections", "reason"),
    [("away", 3, "no broker is connected yet"), ("silent", 1, "no broker has taken a record for 15 s")],
)
def test_while_kafka_is_away_everything_stays_and_is_sent_later(
    spool: Spool, fault: str, connections: int, reason: str
) -> None:
    spool.append(records(b"1", b"2"))
    broker = Broker()
    setattr(broker, fault, True)
    sender = Sender(spool, broker.connect, Beats())
    with capture_logs() as logged:
        sender.thread.start()
        eventually("it tries", lambda: broker.connections >= connections, seconds=30)
        eventually("it says why", lambda: sender.counts.away == reason, seconds=30)
    assert [one["event"] for one in logged if one["log_level"] == "warning"] == ["kafka.away"]
    spool.append(records(b"3"))
    setattr(broker, fault, False)
    eventually("all is sent", lambda: spool.fill.entries == 0, seconds=30)
    assert broker.taken == [b"1", b"2", b"3"]
    eventually("Kafka counts as there", lambda: sender.counts.away is None, seconds=30)
    sender.close(0)


def test_an_error_of_the_library_ends_nothing(spool: Spool, monkeypatch: pytest.MonkeyPatch) -> None:
    spool.append(records(b"1"))
    send, failures = BrokerStream.send, [AssertionError("unforeseen")]

    def failing(*arguments: Any) -> None:
        if failures:
            raise failures.pop()
        send(*arguments)

    monkeypatch.setattr(BrokerStream, "send", failing)
    broker = Broker()
    sent(spool, broker)
    assert broker.taken == [b"1"]


def test_the_grace_ends_what_kafka_does_not_take(spool: Spool) -> None:
    spool.append(records(b"1"))
    sent(spool, Broker(away=True), grace=0.3)
    assert spool.fill.entries == 1


def test_a_second_signal_ends_the_grace(spool: Spool) -> None:
    spool.append(records(b"1"))
    sender = Sender(spool, Broker(away=True).connect, Beats())
    sender.thread.start()
    sender.close(3600, lambda: True)
    assert spool.fill.entries == 1


@pytest.mark.parametrize(("when_full", "forgotten"), [("dropNewest", True), ("dropOldest", False)])
def test_what_is_dropped_when_it_comes_is_forgotten(tmp_path: Path, when_full: WhenFull, forgotten: bool) -> None:
    dropped, woken, beats = threading.Event(), threading.Event(), Beats()
    with closing(Spool(tmp_path, 2000, when_full)) as spool:
        intake = Intake(spool, woken.set, beats)
        intake.thread.start()
        intake.put(Record("one", bytes(1500), 0), lambda: None)
        intake.put(Record("two", bytes(1500), 0), dropped.set)
        intake.close()
        assert dropped.is_set() == forgotten
        assert woken.is_set()
        assert beats.count >= 1
        assert spool.fill.dropped == 1
        assert spool.fill.entries == 1


def test_polls_stop_while_too_much_waits_for_the_disk(spool: Spool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("logpersister.feeds.intake.MOST_BYTES", 1000)
    intake = Intake(spool, lambda: None, Beats())
    intake.put(Record("one", bytes(1500), 0), lambda: None)
    was_full = intake.is_full
    intake.thread.start()
    intake.close()
    assert (was_full, intake.is_full) == (True, False)
    assert spool.fill.entries == 1
