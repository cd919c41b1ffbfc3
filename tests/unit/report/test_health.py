import threading
from datetime import timedelta

import pytest

from logpersister.report.health import Health
from tests.unit.report.samples import Clock

TEN_SECONDS = timedelta(seconds=10)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def health(clock: Clock) -> Health:
    return Health(clock.seconds)


def test_alive_while_heartbeats_are_young(health: Health, clock: Clock) -> None:
    probe = health.probe("cycle", TEN_SECONDS)
    probe.beat()
    clock.forward(10)
    assert health.live().ok
    clock.forward(0.5)

    report = health.live()
    assert not report.ok
    assert str(report) == "FAILED cycle: last heartbeat 10.5 s ago (limit 10 s)"


def test_the_first_heartbeat_may_take_its_own_time(health: Health, clock: Clock) -> None:
    probe = health.probe("spark", TEN_SECONDS, startup=timedelta(seconds=120))
    clock.forward(119)
    assert health.live().ok
    clock.forward(2)
    assert "no heartbeat yet, 121.0 s after the start (limit 120 s)" in str(health.live())
    probe.beat()
    assert health.live().ok


def test_a_dead_thread_fails_at_once(health: Health) -> None:
    probe = health.probe("membership", TEN_SECONDS)
    thread = threading.Thread(target=lambda: None, name="poll")
    probe.watch(thread)
    assert health.live().ok, "a thread that is not started yet is not dead"
    thread.start()
    thread.join()
    probe.beat()

    assert str(health.live()) == "FAILED membership: thread poll is dead"


def test_a_failure_stays_until_the_next_heartbeat_and_keeps_its_first_cause(health: Health, clock: Clock) -> None:
    probe = health.probe("spark", TEN_SECONDS)
    probe.fail("the JVM is gone")
    clock.forward(3)
    probe.fail("no answer")

    (answer,) = health.live().components
    assert (answer.ok, answer.message, answer.since_seconds) == (False, "the JVM is gone", 3.0)
    probe.beat()
    assert health.live().ok


def test_a_component_that_stopped_as_asked_needs_no_heartbeat(health: Health, clock: Clock) -> None:
    health.probe("cycle", TEN_SECONDS).stop()
    clock.forward(1000)
    assert health.live().ok


def test_ready_needs_life_and_every_condition(health: Health, clock: Clock) -> None:
    probe = health.probe("cycle", TEN_SECONDS)
    joined = health.condition("joined")
    observed = health.condition("observed")
    assert not health.ready().ok

    joined.set(True, "group generation 3")
    assert not health.ready().ok
    observed.set(True)
    assert health.ready().ok

    clock.forward(11)
    assert not health.ready().ok, "not ready when not alive"
    probe.beat()
    joined.set(False, "session timed out")
    assert "FAILED joined: session timed out" in str(health.ready())
    assert health.live().ok, "a condition is no reason for a restart"
