"""Clocks that disagree: records of the past and of the future, stamped by their producers or by the broker.

A range is due when the member has waited for ``maxAge`` since it saw the oldest record of the range. Records that were
there before the member have waited since their timestamps.
"""

import time
from collections.abc import Iterable
from datetime import UTC, datetime

import pytest

from tests.integration.harness.scene import Scene
from tests.integration.harness.verification import Verify
from tests.stack.topics import create_topic

pytestmark = pytest.mark.timeout(900)

HOUR_MS = 3_600_000
YEAR_2200_MS = int(datetime(2200, 1, 1, tzinfo=UTC).timestamp() * 1000)
LAST_MS = (1 << 63) - 1
"""The largest timestamp that a record can have."""
ANY_TIME = {"message.timestamp.after.max.ms": str(LAST_MS)}
"""Brokers refuse the future otherwise."""


def test_ages_of_skewed_records(scene: Scene, unique: str, verify: Verify) -> None:
    """Topics that end in ``hour`` may wait for an hour, those that end in ``second`` for a second."""
    now = int(time.time() * 1000)
    there = {"past.hour": now - 2 * HOUR_MS, "epoch.hour": 0}
    soon = {"future.second": YEAR_2200_MS, "last.second": LAST_MS, "appended.second": 0}
    later = {
        "mirrored.hour": now - 2 * HOUR_MS,
        "now.hour": now,
        "future.hour": YEAR_2200_MS,
        "last.hour": LAST_MS,
        "appended.hour": 0,
    }
    stamped = {f"{unique}.{name}": timestamp for name, timestamp in (there | soon | later).items()}
    for name in stamped:
        configs = {"message.timestamp.type": "LogAppendTime"} if ".appended" in name else ANY_TIME
        create_topic(scene.kafka.bootstrap, name, configs=configs)
    manifest = scene.manifest(
        kafka={"topicPattern": f"^{unique}[.]"},
        upload={"maxAge": "1h"},
        overrides=[{"topicPattern": "second$", "upload": {"maxAge": "1s"}}],
        output={"partitionBy": [{"date": {"granularity": "day"}}]},
    )

    def write(names: Iterable[str]) -> None:
        for name in names:
            timestamp = stamped[f"{unique}.{name}"]
            scene.workload.write(f"{unique}.{name}", 50, timestamp=lambda _, timestamp=timestamp: timestamp)  # type: ignore[misc]

    write(there)
    member = scene.member(manifest)
    member.wait_event("partition.resumed", count=len(stamped))
    write(soon | later)

    due = [f"{unique}.{name}" for name in there | soon]
    waiting = [f"{unique}.{name}" for name in later]
    scene.group.wait_current(*due, explain=member.tail)
    member.wait("it sees what waits", lambda: (member.lag() or {}).get("records") == 50 * len(waiting))
    lag = member.lag()
    assert lag is not None
    assert 0 <= lag["seconds"] < 900, "as long as it has seen them, whatever they say themselves"
    assert not any(scene.bucket.names(name) for name in waiting)
    member.stop()

    scene.run_until_current(manifest)

    objects = scene.assert_stored(*stamped)
    folders = {one.topic.removeprefix(f"{unique}."): one.path for one in objects}
    assert len({(one.topic, one.path) for one in objects}) == len(stamped), "one folder each, in one object or several"
    days = {datetime.fromtimestamp(seconds, UTC).strftime("dt=%Y-%m-%d") for seconds in (now / 1000, time.time())}
    assert {folders.pop("appended.second"), folders.pop("appended.hour"), folders.pop("now.hour")} <= days
    past = datetime.fromtimestamp(now / 1000 - 7_200, UTC).strftime("dt=%Y-%m-%d")
    assert folders == {
        "past.hour": past,
        "mirrored.hour": past,
        "epoch.hour": "dt=1970-01-01",
        "future.second": "dt=2200-01-01",
        "future.hour": "dt=2200-01-01",
        "last.second": "dt=unknown",
        "last.hour": "dt=unknown",
    }
    verify(manifest, "--deep", finds={})
