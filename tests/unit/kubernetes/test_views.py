"""What observers keep of objects is all that decisions can read, and it is there whatever Kubernetes leaves out."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logpersister_operator.cluster.kinds import Document
from logpersister_operator.decide.health import pod_failures
from logpersister_operator.observe.resource import resource_of
from tests.unit.kubernetes.samples import by_reference, decide, observed, pod, resource

TIMES = st.sampled_from([None, "2026-11-21T11:00:00Z", "2026-11-21T11:59:30Z"])
WORDS = st.sampled_from([None, "", "some words", "failed   kafka     no broker\n"])
WAITING = st.sampled_from(
    sorted({*pod_failures.IMAGE_REASONS, *pod_failures.CONFIG_REASONS, "CrashLoopBackOff", "ContainerCreating", "New"})
)


def partly(**known: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Return objects that may lack any field: Kubernetes leaves out what is empty."""
    return st.fixed_dictionaries({}, optional=known)


ENDED = partly(exitCode=st.integers(0, 255), reason=WORDS, message=WORDS, startedAt=TIMES, finishedAt=TIMES)
STATE = st.one_of(
    st.none(),
    partly(waiting=st.one_of(st.none(), partly(reason=WAITING, message=WORDS))),
    partly(terminated=st.one_of(st.none(), ENDED)),
    partly(running=partly(startedAt=TIMES)),
)
CONTAINER = st.fixed_dictionaries(
    {"name": st.just("member")},
    optional={"image": WORDS, "restartCount": st.integers(0, 9), "state": STATE, "lastState": STATE},
)
CONDITION = st.fixed_dictionaries(
    {
        "type": st.sampled_from(["Ready", "PodScheduled", "ContainersReady", "DisruptionTarget"]),
        "status": st.sampled_from(["True", "False", "Unknown"]),
    },
    optional={"lastTransitionTime": TIMES, "reason": WORDS, "message": WORDS},
)
STATUS = partly(
    conditions=st.one_of(st.none(), st.lists(CONDITION, max_size=3)),
    containerStatuses=st.one_of(st.none(), st.lists(CONTAINER, max_size=2)),
    initContainerStatuses=st.one_of(st.none(), st.lists(CONTAINER, max_size=1)),
    podIP=WORDS,
)


@given(status=st.one_of(st.none(), STATUS), deleted=TIMES)
def test_a_decision_is_made_whatever_kubernetes_says_of_a_pod(status: Document | None, deleted: str | None) -> None:
    document = pod("clicks-backup-0a1b2c3d4e5f-0") | {"status": status}
    document["metadata"] |= {"deletionTimestamp": deleted} if deleted else {}
    plan = decide(observed(children=by_reference([document])))
    (member,) = plan.status["members"]["list"]
    ready = [one for one in (status or {}).get("conditions") or () if one["type"] == "Ready"][-1:]
    assert member["ready"] is (not deleted and bool(ready) and ready[0]["status"] == "True")


@pytest.mark.parametrize("status", [{"lag": {"records": "many"}}, {"rollout": {"phase": "Dancing"}}, {"new": {"a": 1}}])
def test_a_status_of_another_version_is_read_as_far_as_it_is_understood(status: Document) -> None:
    told = {"type": "Ready", "status": "True", "reason": "MembersReady", "message": "", "newField": 1}
    paused = {name: value for name, value in told.items() if name != "newField"} | {"type": "Paused"}
    paused["lastTransitionTime"] = "2026-11-21T11:00:00Z"
    document = resource() | {"status": {**status, "revision": "0a1b2c3d4e5f", "conditions": [told, paused]}}
    found = resource_of(document)
    assert found.status.revision == "0a1b2c3d4e5f"
    assert [one.type for one in found.status.conditions] == ["Paused"]
    assert found.record is None
    assert decide(observed(document)).status["conditions"]


def test_what_a_newer_operator_counted_is_not_forgotten_by_an_older_one() -> None:
    loss = {"topic": "clicks", "partition": 1, "start": 2, "end": 3, "held": False, "newField": 1}
    when = {"time": "2026-11-21T11:00:00Z"}
    failure = {"member": "clicks-0", "pod": "uid", **when, "count": 1, "cause": "it hung", "newField": {"a": 1}}
    told = {"type": "Ready", "status": "True", "reason": "MembersReady", "message": "", "newField": 1}
    status = {
        "dataLoss": {"records": 1, "ranges": 1, "latest": [loss, {**loss, "start": 1, "end": 2}], "newField": {}},
        "restarts": [failure],
        "conditions": [{**told, "lastTransitionTime": when["time"]}],
        "newSection": {"newField": 1},
    }
    before = json.dumps(status)
    found = resource_of(resource() | {"status": status}).status
    assert found.data_loss is not None
    assert [one.start for one in found.data_loss.latest] == [2, 1]
    assert [one.member for one in found.restarts] == ["clicks-0"]
    assert [one.type for one in found.conditions] == ["Ready"]
    assert json.dumps(status) == before, "the document itself stays as it is"


def test_a_rollout_goes_on_from_the_record_of_a_newer_operator() -> None:
    time = "2026-11-21T11:00:00Z"
    failure = {"revision": "ffffffffffff", "attempt": 0, "cause": "it crashed", "time": time, "newField": {"a": 1}}
    told = {"phase": "Steady", "since": time, "stable": "0a1b2c3d4e5f", "failures": [failure], "newField": 1}
    record = resource_of(resource() | {"status": {"rollout": told}}).record
    assert record is not None
    assert record.stable == "0a1b2c3d4e5f"
    assert [one.revision for one in record.failures] == ["ffffffffffff"], "it is not tried again"
