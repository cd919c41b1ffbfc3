import pytest
from kafka.errors import (
    CoordinatorLoadInProgressError,
    CoordinatorNotAvailableError,
    GroupAuthorizationFailedError,
    KafkaError,
)

from logpersister.cli.brokers import patiently
from logpersister.cli.exits import UnreachableError
from tests.clock import Clock


def test_a_broker_that_is_not_ready_yet_is_asked_again() -> None:
    time = Clock()
    answers: list[Exception | str] = [CoordinatorNotAvailableError(), CoordinatorLoadInProgressError(), "here"]

    def ask() -> str:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    assert patiently("it failed", 10, ask, time, time.sleep) == "here"


@pytest.mark.parametrize(
    ("error", "seconds"), [(CoordinatorNotAvailableError(), 10), (GroupAuthorizationFailedError(), 0)]
)
def test_it_ends_at_the_deadline_or_at_once_when_waiting_is_no_use(error: KafkaError, seconds: float) -> None:
    time = Clock()

    def ask() -> None:
        raise error

    with pytest.raises(UnreachableError, match=r"spec\.kafka: it failed"):
        patiently("it failed", 10, ask, time, time.sleep)
    assert time.now == pytest.approx(seconds, abs=0.5)
