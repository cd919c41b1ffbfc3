"""The operator, as ``python -m logpersister_operator`` plays it, but for its longest pauses: tests would only wait."""

from functools import partial
from typing import Any

from logpersister_operator import process, runtime
from logpersister_operator.act import departures, status_writer
from logpersister_operator.collectors import actor
from logpersister_operator.observe import lag, lag_connection, object_events, watches
from logpersister_operator.observe.namespaces import Namespaces
from logpersister_operator.observe.served_kinds import ServedKinds
from logpersister_operator.replays import replay_course, replays_actor

_LOOK_SECONDS = 3.0
_PAUSES: tuple[tuple[Any, str, float], ...] = (
    (runtime, "UNSETTLED_SECONDS", 3.0),
    (actor, "UNSETTLED_SECONDS", 3.0),
    (replays_actor, "WORKING_SECONDS", 3.0),
    (replay_course, "AGAIN_SECONDS", 3.0),
    (object_events, "PATIENCE_SECONDS", 3.0),
    (status_writer, "PAUSE_SECONDS", 3.0),
    (departures, "KAFKA_MILLISECONDS", 3000),
    (lag, "ASK_SECONDS", 4.0),
    (lag_connection, "ASK_SECONDS", 4.0),
    (watches, "REFUSED_SECONDS", 8.0),  # a test looks at what is told before that counts
)


def main() -> int:
    """Run it and return its exit code."""
    for module, name, shorter in _PAUSES:
        assert getattr(module, name) > shorter, name
        setattr(module, name, shorter)
    for one in (Namespaces, ServedKinds):
        setattr(process, one.__name__, partial(one, look_seconds=_LOOK_SECONDS))
    return process.main()
