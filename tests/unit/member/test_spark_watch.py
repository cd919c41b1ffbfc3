"""The watch over Spark: the JVM is gone, or the member was asked to stop. test_member_stop.py has real Spark."""

from datetime import timedelta

import pytest

from logpersister.member.spark_watch import SparkLostError, SparkWatch
from logpersister.report.facts import Identity, RunningJob
from logpersister.report.health import Health
from logpersister.report.status import StatusBoard
from logpersister.stopping import Stop
from tests.integration.harness.waiting import eventually

TOO_LONG = timedelta(hours=1)


class Spark:
    """Spark that answers until the test breaks it."""

    executors = 2

    def __init__(self) -> None:
        self.gone = False
        self.questions = 0

    def answers(self) -> bool:
        self.questions += 1
        if self.gone:
            raise ConnectionRefusedError("nobody listens")
        return True

    def running(self) -> tuple[RunningJob, ...]:
        return ()


def test_a_jvm_that_is_gone_fails_the_probe_and_ends_the_member() -> None:
    spark, health, stop = Spark(), Health(), Stop()
    board = StatusBoard(Identity("backup", 1, "0a1b2c3d4e5f", "m", "1"))
    with SparkWatch(spark, health.probe("spark", TOO_LONG), board, stop, ask_seconds=0.01) as watch:
        eventually("it is asked", lambda: spark.questions)
        watch.raise_if_lost()
        assert health.live().ok
        spark.gone = True
        eventually("the member is woken", stop.wake.is_set)
        with pytest.raises(SparkLostError, match="Spark does not answer: ConnectionRefusedError"):
            watch.raise_if_lost()
        assert "FAILED spark: Spark does not answer" in str(health.live())
    assert not health.live().ok, "what has failed does not become well when the member ends"


def test_spark_that_ends_with_a_member_that_was_asked_to_stop_has_not_failed() -> None:
    spark, health, stop = Spark(), Health(), Stop()
    board = StatusBoard(Identity("backup", 1, "0a1b2c3d4e5f", "m", "1"))
    with SparkWatch(spark, health.probe("spark", TOO_LONG), board, stop, ask_seconds=0.01) as watch:
        stop.asked = spark.gone = True
        eventually("the watch ends", lambda: "stopped as asked" in str(health.live()))
        watch.raise_if_lost()
