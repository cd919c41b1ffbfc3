"""Records that are sent without waiting for each: answers in order, refusals apart from what did not arrive."""

from typing import Any

import pytest
from kafka import errors
from kafka.future import Future

from logpersister.kafka_client import stream
from logpersister.kafka_client.producer import NotDeliveredError
from logpersister.kafka_client.stream import Stream


class Producer:
    """Answers each record when the test says so."""

    def __init__(self) -> None:
        self.futures: list[Future] = []
        self.closed: list[float] = []
        self.raises: Exception | None = None

    def send(self, *_: Any, **__: Any) -> Future:
        if self.raises is not None:
            raise self.raises
        self.futures.append(Future())
        return self.futures[-1]

    def close(self, timeout: float) -> None:
        self.closed.append(timeout)


@pytest.fixture
def producer(monkeypatch: pytest.MonkeyPatch) -> Producer:
    one = Producer()
    monkeypatch.setattr(stream, "connected", lambda *_, **__: one)
    return one


def send(opened: Stream, *numbers: int) -> None:
    for number in numbers:
        opened.send(number, b"key", b"12345", [], 0)


def test_answers_come_in_the_order_of_sending(producer: Producer) -> None:
    told: list[int] = []
    opened = Stream({}, "feeds", 100, lambda: told.append(1))
    send(opened, 7, 8, 9)
    producer.futures[1].success("there")
    assert list(opened.settled()) == []
    producer.futures[0].success("there")
    assert list(opened.settled()) == [(7, None), (8, None)]
    assert (len(opened), opened.bytes, len(told)) == (1, 5, 2)
    assert opened.waits_since is not None


def test_what_brokers_never_take_is_told_in_its_turn(producer: Producer) -> None:
    opened = Stream({}, "feeds", 100)
    send(opened, 1)
    producer.raises = errors.MessageSizeTooLargeError("5 bytes")
    send(opened, 2)
    producer.futures[0].failure(errors.InvalidRecordError())
    [(first, why), (second, _)] = opened.settled()
    assert (first, second) == (1, 2)
    assert why is not None
    assert "INVALID_RECORD" in why


def test_what_did_not_arrive_stays_to_be_sent_again(producer: Producer) -> None:
    opened = Stream({}, "feeds", 100)
    send(opened, 1, 2)
    producer.futures[0].success("there")
    producer.futures[1].failure(errors.KafkaTimeoutError("delivery.timeout.ms"))
    settled = opened.settled()
    assert next(settled) == (1, None)
    with pytest.raises(NotDeliveredError, match="no broker has answered"):
        next(settled)
    opened.close()
    assert producer.closed == [0.0]


def test_a_topic_that_is_not_there_is_no_refusal(producer: Producer) -> None:
    opened = Stream({}, "feeds", 100)
    producer.raises = errors.KafkaTimeoutError("no metadata")
    with pytest.raises(NotDeliveredError):
        send(opened, 1)


def test_the_end_waits_when_nothing_is_left(producer: Producer) -> None:
    with Stream({}, "feeds", 100) as opened:
        send(opened, 1)
        producer.futures[0].success("there")
        assert list(opened.settled()) == [(1, None)]
    assert producer.closed[0] > 0
