"""Pods that another version of the operator makes are another revision: nobody is restarted untried, or all at once.

Files of golden/renderings never change, and neither do the resources in golden/specs.json that they are made of: a new
field of the manifest makes another revision, whose pods differ for that reason. When a test says that pods differ,
raise `RENDERING` and ``make golden``.
"""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from logpersister_operator.cluster.kinds import Document, Reference
from logpersister_operator.member_defaults import parse_defaults
from logpersister_operator.render import rendering
from logpersister_operator.render.pod import EXECUTOR_KEY
from logpersister_operator.render.workload import RESTART_ANNOTATION
from tests.unit.kubernetes.samples import NOW, Life, lag, pod, resource, verdict, waiting
from tests.unit.kubernetes.test_golden import LARGE

GOLDEN = Path(__file__).parent / "golden" / "renderings"
SPECS = json.loads(GOLDEN.with_name("specs.json").read_text())
DEFAULTS = json.dumps(
    {"labels": {"team": "data"}, "proxy": {"https": "http://proxy:3128"}, "extraCa": {"configMap": "ca"}}
)
LATER = rendering.RENDERING + 1
OTHER_PODS: dict[str, Any] = {"podTemplate": {"spec": {"nodeSelector": {"disk": "fast"}}}}
"""Which is no revision: whatever is made now looks different."""
ROLLOUT: dict[str, Any] = {"canary": {"analysis": {"duration": "1s", "minRanges": 0}}}


def pods(spec: dict[str, Any], defaults: str = "") -> Document:
    """Return the pods of members and executors of a resource that is new."""
    plan = Life(resource(**spec)).step(defaults=parse_defaults(defaults))
    found = {one["kind"]: one for one in plan.apply}
    executor = found["ConfigMap"]["data"].get(EXECUTOR_KEY)
    member = found["StatefulSet"]["spec"]["template"]
    return {"member": member, **({} if executor is None else {"executor": json.loads(executor)})}


def test_this_version_makes_the_pods_that_it_stands_for() -> None:
    made = {
        "small": pods({}),
        "large": pods(LARGE),
        "defaults": pods({"spark": {"executors": 1}}, DEFAULTS),
        **{name: pods(spec) for name, spec in SPECS.items()},
    }
    file = GOLDEN / f"{rendering.RENDERING}.json"
    if os.environ.get("UPDATE_GOLDEN") == "1" and not file.exists():
        file.write_text(json.dumps(made, indent=1, sort_keys=True) + "\n")
    told = (
        "an upgraded operator would restart all members of all resources at once: raise RENDERING, then `make golden`"
    )
    assert made == json.loads(file.read_text()), told


def test_the_first_version_is_written_nowhere() -> None:
    assert rendering.with_rendering("image:1", 1) == "image:1"
    assert rendering.with_rendering("image:1", 2) != "image:1"
    assert [rendering.read(rendering.written(one)) for one in (1, 2, 17)] == [1, 2, 17]
    assert rendering.read("") == 1
    assert rendering.read("two") is None


def running(**spec: Any) -> Life:
    """Return a resource whose members run, made by this version."""
    life = Life(resource(rollout=ROLLOUT, **spec))
    for _ in range(2):
        life.step()
        life.get_ready()
    return life


def of_revision(life: Life, kind: str, revision: str) -> Document:
    return life.children[Reference(kind, f"clicks-backup-{revision}")]


def test_a_later_version_tries_its_pods_with_a_canary_and_leaves_the_others_as_they_are() -> None:
    life = running(members=3, spark={"executors": 1})
    (old,) = life.revisions()
    made = {kind: of_revision(life, kind, old) for kind in ("StatefulSet", "ConfigMap")}
    life.change(**OTHER_PODS)
    plan = life.step(rendering=LATER)
    assert verdict(plan, "Reconciling") == ("True", "TryingCanary")
    (new,) = life.revisions().keys() - {old}
    assert {kind: of_revision(life, kind, old) for kind in made} == made
    assert of_revision(life, "ConfigMap", new)["metadata"]["annotations"]["logpersister.dev/rendering"] == str(LATER)
    for minute in range(1, 12):
        life.get_ready()
        life.step(rendering=LATER, now=NOW.replace(minute=minute), lag=lag())
    assert life.revisions() == {new: 3}


def fail(life: Life, old: str) -> None:
    """Let the canary crash until it is withdrawn."""
    life.step(rendering=LATER)
    (new,) = life.revisions().keys() - {old}
    crashing = pod(f"clicks-backup-{new}-0", revision=new, containerStatuses=[waiting("CrashLoopBackOff", restarts=4)])
    for minute in range(4):
        life.children[Reference.of(crashing)] = crashing
        life.step(rendering=LATER, now=NOW.replace(minute=minute))
        life.get_ready(old)
    del life.children[Reference.of(crashing)]
    for _ in range(2):
        life.step(rendering=LATER, now=NOW.replace(minute=5))
        life.get_ready(old)
    plan = life.step(rendering=LATER, now=NOW.replace(minute=5))
    assert verdict(plan, "Stalled") == ("True", "RolloutFailed")


@pytest.mark.parametrize("kept", ["waits for its turn", "is paused", "has failed"])
def test_what_keeps_its_revision_is_only_scaled(kept: str) -> None:
    life = running(members=2, networkPolicy="Restricted")
    (old,) = life.revisions()
    template = of_revision(life, "StatefulSet", old)["spec"]["template"]
    known: dict[str, Any] = {"rendering": LATER, "turn": "another one has the place"}
    if kept == "is paused":
        life.annotate(**{"logpersister.dev/paused": "true"})
    life.change(members=1, **OTHER_PODS)
    if kept == "has failed":
        known = {"rendering": LATER}
        fail(life, old)
    else:
        for _ in range(3):
            life.step(**known)
            life.get_ready()
    assert life.revisions() == {old: 0 if kept == "is paused" else 1}
    assert of_revision(life, "StatefulSet", old)["spec"]["template"] == template
    assert Reference("ConfigMap", f"clicks-backup-{old}") in life.children
    life.change(networkPolicy="None")
    life.step(**(known | {"now": NOW.replace(hour=13)}))
    assert Reference("NetworkPolicy", "clicks-backup-members") not in life.children, "what restarts nobody goes on"


def test_a_restart_reaches_pods_of_an_older_operator_and_without_its_annotation_nobody_restarts() -> None:
    life = running(members=2)
    (revision,) = life.revisions()
    waits: dict[str, Any] = {"rendering": LATER, "turn": "another one has the place"}

    def template() -> Document:
        found: Document = of_revision(life, "StatefulSet", revision)["spec"]["template"]
        return found

    before = template()
    life.annotate(**{RESTART_ANNOTATION: "at noon"})
    life.step(**waits)
    metadata = before["metadata"]
    annotations = metadata["annotations"] | {RESTART_ANNOTATION: "at noon"}
    assert template() == before | {"metadata": metadata | {"annotations": annotations}}, "nothing else of them changes"
    restarted = template()
    life.annotate()
    for known in (waits, {}):
        life.step(**known)
        assert template() == restarted
