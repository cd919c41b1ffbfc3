"""The Jobs of a replay, as files that people read. After a wanted change: ``make golden``."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from logpersister.manifest import parse
from logpersister_operator.cluster.kinds import Document
from logpersister_operator.replays.observed_replay import Wanted
from tests.unit.kubernetes.samples import resource
from tests.unit.replays.life import LIVE, PLAN, STORING, SWITCHING, ReplayLife, found, replay

GOLDEN = Path(__file__).parent / "golden"
UPDATE = os.environ.get("UPDATE_GOLDEN") == "1"
WHOLE: dict[str, Any] = {
    "source": {"auto": {"resource": "all-backup"}},
    "topics": ["clicks"],
    "from": "2026-11-21T00:00:00Z",
    "to": "2026-11-22T00:00:00+01:00",
    "maxBytesPerSecond": "50Mi",
    "processes": 4,
}


def arguments(job: Document) -> list[str]:
    return list(job["spec"]["template"]["spec"]["containers"][0]["args"])


def test_the_job_that_stores() -> None:
    life = ReplayLife(**WHOLE)
    job = next(one for one in life.step().apply if one["kind"] == "Job")
    text = yaml.safe_dump(json.loads(json.dumps(job)), sort_keys=False, width=110)  # a copy, so without references
    file = GOLDEN / "storing.yaml"
    if UPDATE:
        file.write_text(text)
        pytest.skip(f"{file.name} is written anew, and compared with nothing")
    assert text == file.read_text(), f"{file.name} differs; see the docstring of this module"


def test_the_plan_is_the_resource_in_the_generation_of_the_replay() -> None:
    life = ReplayLife(**WHOLE)
    life.step()
    kept = life.children[PLAN]
    assert kept["immutable"]
    live = parse(LIVE)
    found = parse(yaml.safe_load(kept["data"]["resource.json"]))
    assert found.spec == live.spec.model_copy(update={"generation": 2})
    assert found.group_id == live.group_id
    assert parse(yaml.safe_load(kept["data"]["backup.json"])).spec.storage.bucket == "backups"


def test_the_resource_says_who_may_connect_to_pods() -> None:
    life = ReplayLife()
    life.wanted = Wanted(found(resource(networkPolicy="Restricted")))
    (policy,) = (one for one in life.step().apply if one["kind"] == "NetworkPolicy")
    selector = policy["spec"]["podSelector"]["matchLabels"].items()
    template = life.children[STORING]["spec"]["template"]
    assert policy["metadata"]["name"] == "again-replay"
    assert selector <= template["metadata"]["labels"].items()


@pytest.mark.parametrize(
    ("source", "options"),
    [
        ({"kafka": {}}, ["--source", "kafka"]),
        ({"backup": {"resource": "all-backup"}}, ["--source", "backup", "--backup", "/etc/logpersister/backup.json"]),
    ],
)
def test_sources(source: Document, options: list[str]) -> None:
    life = ReplayLife(source=source)
    life.step()
    found = arguments(life.children[STORING])
    assert found[3:-6] == options


def test_the_switch_serves_nothing_and_needs_no_pause() -> None:
    life = ReplayLife.stored(**WHOLE, switch={})
    job = life.children[SWITCHING]
    container = job["spec"]["template"]["spec"]["containers"][0]
    assert arguments(job)[3:] == ["--to-generation", "2", "--topics", "clicks"]
    assert not {"ports", "startupProbe", "livenessProbe", "readinessProbe"} & container.keys()
    assert (job["spec"]["parallelism"], "suspend" in job["spec"]) == (1, False)


def test_names_leave_room_for_those_of_pods() -> None:
    life = ReplayLife.stored(switch={"deleteOld": {"after": "0s"}})
    longest = max(len(name) for _, name in ((one.kind, one.name) for one in life.children))
    assert longest - len(replay()["metadata"]["name"]) + 39 <= 63 - len("-x2x4z")
