"""The operator, as `python -m logpersister_operator` plays it, but for its longest pauses: tests would only wait."""

from typing import Any

from logpersister_operator import process, runtime
from logpersister_operator.act import departures, status_writer
from logpersister_operator.collectors import actor
from logpersister_operator.observe import object_events, watches
from logpersister_operator.observe.namespaces import Namespaces
from logpersister_operator.observe.served_kinds import ServedKinds
from logpersister_operator.replays import replay_course, replays_actor

_SECONDS = 3.0
_REFUSED_SECONDS = 8.0
"""A test looks at what is told before that counts."""
_PAUSES: tuple[tuple[Any, str], ...] = (
    (runtime, "UNSETTLED_SECONDS"),
    (actor, "UNSETTLED_SECONDS"),
    (replays_actor, "WORKING_SECONDS"),
    (replay_course, "AGAIN_SECONDS"),
    (object_events, "PATIENCE_SECONDS"),
    (status_writer, "PAUSE_SECONDS"),
)


def main() -> int:
    """Run it and return its exit code."""
    for module, name in _PAUSES:
        assert getattr(module, name) > _SECONDS
        setattr(module, name, _SECONDS)
    departures.__dict__["KAFKA_MILLISECONDS"] = round(_SECONDS * 1000)
    watches.__dict__["REFUSED_SECONDS"] = _REFUSED_SECONDS
    looks: tuple[Any, ...] = (Namespaces, ServedKinds)
    for one in looks:
        init = one.__init__
        init.__defaults__ = (_SECONDS, *init.__defaults__[1:])
    return process.main()
