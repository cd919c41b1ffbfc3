"""How long records may wait before that is worth a word. Pure."""

from datetime import timedelta

from logpersister.manifest.spec import Spec

SLACK_SECONDS = 60.0


def target_lag_seconds(spec: Spec, topic: str) -> float:
    """Return ``spec.targetLag``; unless set, twice the ``maxAge`` of the topic and a minute."""
    if spec.target_lag is not None:
        return spec.target_lag.total_seconds()
    return _unless_set(spec.limits_of(topic).max_age)


def longest_target_seconds(spec: Spec) -> float:
    """Return the target of the topics that have most time, whichever topics there are."""
    if spec.target_lag is not None:
        return spec.target_lag.total_seconds()
    return _unless_set(max(spec.ages()))


def _unless_set(max_age: timedelta) -> float:
    return 2 * max_age.total_seconds() + SLACK_SECONDS


def due_seconds(spec: Spec, topic: str) -> float:
    """Return how long a partition with records may stand still.

    Until its range is due, is looked for, and a member that has restarted is back. ``targetLag`` is a wish, no reason.
    """
    waits = (spec.limits_of(topic).max_age, spec.cycle_interval, spec.kafka.session_timeout)
    return sum(wait.total_seconds() for wait in waits)
