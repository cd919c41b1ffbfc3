"""LogReplays on a real API server, whose controller of Jobs the test plays: what a user does, and what comes of it."""

import copy
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

from tests.integration.kubernetes.jobs import JOBS, Replay, end, job_of, now, write_status
from tests.integration.kubernetes.operator_process import SPEC, OperatorProcess, Resource
from tests.integration.kubernetes.saying import saying
from tests.stack.kubernetes import Client, Refused
from tests.stack.kubernetes.client import Document

pytestmark = pytest.mark.usefixtures("crd")

ADDRESS = "127.0.0.41"
AGAIN: dict[str, Any] = {"resource": "clicks", "generation": 2}


@pytest.fixture
def replay(api: Client, namespace: str, operator: OperatorProcess) -> Resource:
    """A LogReplay of LogPersister clicks, once it is applied."""
    return Replay(api, namespace, "again", operator.tail)


@contextmanager
def process(api: Client, job: Document, name: str, **said: Any) -> Iterator[Mapping[str, Any]]:
    """Run the pod of a Job, which says how far the replay is."""
    namespace, template = job["metadata"]["namespace"], job["spec"]["template"]
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": job["metadata"]["name"], "uid": job["metadata"]["uid"]}
    metadata = {"name": name, "namespace": namespace, "labels": template["metadata"]["labels"]}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata | {"ownerReferences": [owner | {"controller": True}]},
    }
    path = f"/api/v1/namespaces/{namespace}/pods/{name}"
    spec = {"restartPolicy": "Never", "containers": [{"name": "member", "image": "x"}]}
    api.apply(path, pod | {"spec": spec | {"serviceAccountName": template["spec"]["serviceAccountName"]}})
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": now()}
    running = {"phase": "Running", "podIP": ADDRESS, "podIPs": [{"ip": ADDRESS}], "conditions": [ready]}
    api.apply(f"{path}/status", pod | {"status": running}, manager="kubelet")
    with saying(ADDRESS, **said) as says:
        yield says
    ended = {"exitCode": 4, "reason": "Error", "message": "a hole: no object has t-0[0,5)", "containerID": "x://y"}
    ended |= {"startedAt": now(), "finishedAt": now()}
    container = {"name": "member", "image": "x", "imageID": "", "ready": False, "restartCount": 0}
    over = {"phase": "Failed", "containerStatuses": [container | {"state": {"terminated": ended}}]}
    api.apply(f"{path}/status", pod | {"status": running | over}, manager="kubelet")


def test_the_life_of_a_replay(resource: Resource, replay: Resource, operator: OperatorProcess, api: Client) -> None:
    replay.apply(AGAIN)
    assert 'no LogPersister "clicks"' in replay.wait("Stalled", "True", "ResourceMissing")["message"]
    resource.apply(SPEC)
    resource.wait_stateful_sets(1)  # and the account of the members, which pods of the replay have, too
    replay.wait("Planned", "False", "Planning")
    job = job_of(replay, "again")
    resource.apply(copy.deepcopy(SPEC) | {"generation": 7})  # which changes no replay that has its plan

    write_status(api, job)
    with process(api, job, "again-x", replay={"offsets": 1000, "stored": 250}) as says:
        assert "250 of 1,000 offsets" in replay.wait("Stored", "False", "Running")["message"]
        assert replay.status()["summary"]["progress"] == "25%"
        operator.kill()
        says["replay"] = {"offsets": 1000, "stored": 500}  # type: ignore[index]
        operator.start()
        replay.eventually("a new operator goes on", lambda: replay.status()["summary"]["progress"] == "50%")
        replay.apply(AGAIN | {"suspend": True, "processes": 3})
        replay.wait("Stored", "False", "Suspended")
    changed = job_of(replay, "again")["spec"]
    assert (changed["suspend"], changed["parallelism"]) == (True, 3)
    assert changed["template"] == job["spec"]["template"]

    replay.apply(AGAIN | {"switch": {"deleteOld": {"after": "1s"}}})
    replay.eventually("it goes on", lambda: not job_of(replay, "again")["spec"]["suspend"])
    end(api, job)
    end(api, job_of(replay, "again-switch"), fails=True)
    replay.wait("Stalled", "True", "SwitchFailed")
    replay.apply(AGAIN | {"switch": {"deleteOld": {"after": "1s"}}, "suspend": True})
    replay.eventually("the Job goes", lambda: "again-switch" not in replay.children(JOBS, "jobs"))
    replay.apply(AGAIN | {"switch": {"deleteOld": {"after": "1s"}}})
    end(api, job_of(replay, "again-switch"))
    end(api, job_of(replay, "again-delete-old"))
    replay.wait("OldDeleted", "True", "Done")
    replay.wait("Ready", "True", "Done")
    assert (replay.status()["phase"], replay.status()["groupId"]) == ("Switched", "clicks-replay-2")
    assert [one["type"] for one in replay.wait_events("SwitchFailed")] == ["Warning"]

    replay.delete()
    replay.eventually("it goes, finalizer and all", lambda: replay.get() is None)


def test_a_hole_is_said_and_another_replay_waits(
    resource: Resource, replay: Resource, operator: OperatorProcess, api: Client
) -> None:
    resource.apply(SPEC)
    resource.wait_stateful_sets(1)
    replay.apply(AGAIN)
    job = job_of(replay, "again")
    younger = Replay(api, replay.namespace, "later", operator.tail)
    younger.apply(AGAIN)
    assert "LogReplay again has generation 2" in younger.wait("Stalled", "True", "GenerationTaken")["message"]
    write_status(api, job)
    with process(api, job, "again-x"):
        pass
    end(api, job, fails=True)
    assert "a hole: no object has t-0[0,5)" in replay.wait("Stalled", "True", "ReplayFailed")["message"]
    replay.delete()
    job_of(younger, "later")
    younger.delete()


@pytest.mark.parametrize("change", [{"generation": 3}, {"from": "2026-11-21T00:00:00Z"}, {"source": {"kafka": {}}}])
def test_what_is_planned_cannot_be_changed(replay: Resource, change: dict[str, Any]) -> None:
    replay.apply(AGAIN)
    with pytest.raises(Refused, match="cannot be changed; create another resource"):
        replay.apply(AGAIN | change)
    replay.delete()
