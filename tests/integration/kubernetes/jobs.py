"""A LogReplay on a real API server without nodes: the test does what the controller of Jobs does."""

from datetime import UTC, datetime
from typing import Any, Final

from logpersister_operator.cluster.kinds import LOG_REPLAY
from logpersister_operator.render.ownership import resource_label
from tests.integration.kubernetes.operator_process import Resource
from tests.stack.kubernetes import Client
from tests.stack.kubernetes.client import Document

JOBS: Final = "apis/batch/v1"


class Replay(Resource):
    """One LogReplay, and its children."""

    kind, plural = LOG_REPLAY.name, LOG_REPLAY.plural

    @property
    def label(self) -> str:
        return resource_label(LOG_REPLAY, self.name)


def job_of(replay: Resource, name: str) -> Document:
    found: Document = replay.eventually(f"Job {name}", lambda: replay.children(JOBS, "jobs").get(name))
    return found


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def write_status(api: Client, job: Document, **status: Any) -> None:
    """Do what the controller of Jobs does."""
    metadata = {name: job["metadata"][name] for name in ("name", "namespace")}
    path = f"/apis/batch/v1/namespaces/{metadata['namespace']}/jobs/{metadata['name']}"
    document = {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata}
    began = api.get(path).get("status", {}).get("startTime", now())
    told = {"uncountedTerminatedPods": {}, "startTime": began, **status}
    api.apply(f"{path}/status", document | {"status": told}, manager="job-controller")


def end(api: Client, job: Document, *, fails: bool = False) -> None:
    ended = {"status": "True", "lastTransitionTime": now(), "lastProbeTime": now()}
    if fails:
        conditions = [{"type": one, **ended, "message": "it failed"} for one in ("FailureTarget", "Failed")]
        write_status(api, job, failed=1, conditions=conditions)
    else:
        conditions = [{"type": one, **ended} for one in ("SuccessCriteriaMet", "Complete")]
        write_status(api, job, succeeded=1, completionTime=now(), conditions=conditions)
