"""``kubectl logpersister``: kubectl finds the plugin, which reads what the operator wrote and sets annotations."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from logpersister.manifest.rollout import PROMOTE
from logpersister_operator.decide.decision import PAUSED_ANNOTATION
from logpersister_operator.decide.health.data_losses import ACKNOWLEDGED
from tests.integration.kubernetes.judge import COLLECTION
from tests.integration.kubernetes.test_crd_kubectl import full_status
from tests.stack import artifacts
from tests.stack.kubernetes import ApiServer, Client
from tests.unit.manifest.documents import DOCUMENT

pytestmark = pytest.mark.usefixtures("crd")

NAME = "clicks-backup"
TIME = "2026-11-21T12:00:00Z"
Said = subprocess.CompletedProcess[str]
Plugin = Callable[..., Said]


@pytest.fixture
def plugin(api_server: ApiServer, namespace: str, tmp_path: Path) -> Plugin:
    """``plugin("status", "NAME")`` in the namespace of the test, as people call it."""
    programs = f"{artifacts.ROOT / 'kubectl'}:{artifacts.go_program('kubectl').parent}:{os.environ['PATH']}"
    environment = {"PATH": programs, "HOME": str(tmp_path), "KUBECONFIG": str(api_server.kubeconfig)}
    environment["KUBECACHEDIR"] = str(api_server.kubeconfig.with_name("kubectl"))

    def run(*arguments: str) -> Said:
        command = ["kubectl", "logpersister", *arguments, "-n", namespace]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    return run


@pytest.fixture
def path(api: Client, namespace: str) -> str:
    """Of a resource that no operator has looked at."""
    api.create(COLLECTION.format(namespace), DOCUMENT)
    return f"{COLLECTION.format(namespace)}/{NAME}"


def tell(api: Client, path: str, status: dict[str, Any]) -> None:
    """Write a status as the operator does."""
    api.replace(f"{path}/status", api.get(path) | {"status": {"observedGeneration": 1, **status}})


def annotations(api: Client, path: str) -> dict[str, str]:
    found: dict[str, str] = api.get(path)["metadata"].get("annotations") or {}
    return found


def rolling(phase: str, **more: Any) -> dict[str, Any]:
    record = {"phase": phase, "since": TIME, "stable": "a" * 12, "candidate": "b" * 12, **more}
    return {"rollout": record}


def succeeded(said: Said) -> str:
    assert (said.returncode, said.stderr) == (0, "")
    return said.stdout


def refused(said: Said, *, code: int = 1) -> str:
    assert (said.returncode, said.stdout) == (code, "")
    return said.stderr


def test_a_full_status_is_told(plugin: Plugin, api: Client, path: str) -> None:
    tell(api, path, full_status())
    told = succeeded(plugin("status", NAME))
    assert "<no value>" not in told
    assert "%!" not in told
    for line in (
        f"Name:       {NAME} in namespace ",
        "State:      x\n",
        "Members:    1/1 ready\n",
        f"Rollout:    Canary since {TIME}, from revision {'a' * 12}, to revision {'b' * 12}, step 1\n",
        f"looks wrong since {TIME}: ccc",
        f"revision {'0' * 12} failed at {TIME}: ccc",
        "Lag:        1 records, the oldest for 1s\n",
        f"Failed:     S3 at {TIME}: mmm",
        "Lost:       1 records in 50 ranges\n",
        f"Types:      300 with records, 2 records in quarantine, 1 left out; newest of {'0' * 100} is of {TIME}\n",
        "  Ready              Unknown  Because              since",
    ):
        assert line in told
    assert "Paused:" not in told
    assert "Not seen:" not in told


def test_a_status_of_the_least_is_told(plugin: Plugin, api: Client, path: str) -> None:
    tell(api, path, {"rollout": {"phase": "Steady", "since": TIME}, "summary": {"state": "MembersReady"}})
    changed = api.get(path)
    api.replace(path, changed | {"spec": changed["spec"] | {"members": 7}})
    succeeded(plugin("pause", NAME))
    told = succeeded(plugin("status", NAME))
    assert "<no value>" not in told
    assert "State:      MembersReady\n" in told
    assert "Rollout:    Steady since" in told
    assert "Lag:        Unknown records, the oldest for Unknown\n" in told
    assert "Paused:     true, by annotation\n" in told
    assert "Not seen:   the operator has not yet seen the newest spec" in told


def test_what_no_operator_looks_after_is_told(plugin: Plugin, path: str) -> None:
    for command in ("status", "lag", "promote", "acknowledge"):
        assert f"no operator has looked at {NAME} yet" in refused(plugin(command, NAME))
    assert '"other" not found' in refused(plugin("status", "other"))
    assert '"other" not found' in refused(plugin("pause", "other"))


def test_lag(plugin: Plugin, api: Client, path: str) -> None:
    worst = [
        {"topic": "clicks", "partition": 3, "records": 12345678901, "seconds": 90, "stuck": True},
        {"topic": "clicks", "partition": 10, "records": 7},
        {"topic": "clicks", "partition": 11, "records": 1, "seconds": 0},
    ]
    lag = {"records": 12345678908, "seconds": 90, "partitions": 12, "behind": 1, "worst": worst}
    condition = {
        "type": "LagWithinTarget",
        "status": "False",
        "reason": "Behind",
        "message": "late",
        "lastTransitionTime": TIME,
    }
    tell(api, path, {"lag": lag, "conditions": [condition]})
    assert succeeded(plugin("lag", NAME)).splitlines() == [
        "12345678908 records behind in 12 partitions, the oldest for 90 s; 1 partitions over their target",
        "",
        "     RECORDS    SECONDS  PARTITION",
        " 12345678901         90  clicks-3  stands still",
        "           7          -  clicks-10",
        "           1          0  clicks-11",
        "",
        "Behind: late",
    ]
    tell(api, path, {"lag": {"records": 0, "seconds": 0, "partitions": 12, "behind": 0}})
    assert succeeded(plugin("lag", NAME)).splitlines() == [
        "0 records behind in 12 partitions; 0 partitions over their target"
    ]
    tell(api, path, {"conditions": [condition | {"reason": "LagUnknown", "message": "no broker answers"}]})
    assert succeeded(plugin("lag", NAME)).split("\n") == [
        "The lag is not known.",
        "",
        "LagUnknown: no broker answers",
        "",
    ]


def test_a_promotion_names_revision_and_step(plugin: Plugin, api: Client, path: str) -> None:
    tell(api, path, rolling("Waiting", step=2))
    assert succeeded(plugin("promote", NAME)) == f"{NAME}: step 2 of revision {'b' * 12} is promoted\n"
    assert annotations(api, path)[PROMOTE] == f"{'b' * 12}.2"
    assert "all the way" in succeeded(plugin("promote", NAME, "--all"))
    assert annotations(api, path)[PROMOTE] == "b" * 12
    tell(api, path, rolling("Shadowing", suspicion={"since": TIME, "cause": "it differs"}))
    assert "goes on only when it does not any more: it differs" in succeeded(plugin("promote", NAME))
    assert annotations(api, path)[PROMOTE] == f"{'b' * 12}.0"


def test_what_cannot_be_promoted_is_not(plugin: Plugin, api: Client, path: str) -> None:
    tell(api, path, rolling("Halted"))
    assert "raise spec.rollout.attempt" in refused(plugin("promote", NAME))
    tell(api, path, {"rollout": {"phase": "Steady", "since": TIME, "stable": "a" * 12}})
    assert "there is nothing to promote: the rollout of clicks-backup is Steady" in refused(plugin("promote", NAME))
    tell(api, path, {})
    assert "is not known" in refused(plugin("promote", NAME))
    assert annotations(api, path) == {}


def test_pause_and_resume(plugin: Plugin, api: Client, path: str) -> None:
    for _ in range(2):
        assert f"kubectl logpersister resume {NAME}" in succeeded(plugin("pause", NAME))
        assert annotations(api, path) == {PAUSED_ANNOTATION: "true"}
    for _ in range(2):
        assert succeeded(plugin("resume", NAME)) == f"{NAME} goes on\n"
        assert annotations(api, path) == {}


def test_the_newest_loss_is_acknowledged(plugin: Plugin, api: Client, path: str) -> None:
    tell(api, path, {})
    assert "no record of clicks-backup is known to be lost" in refused(plugin("acknowledge", NAME))
    loss = {"topic": "clicks", "partition": 1, "start": 2, "end": 3, "held": True}
    times = ("2026-11-21T12:00:00Z", "2026-11-22T09:00:00Z", "2026-10-30T23:00:00Z")
    latest = [loss | {"start": start, "time": time} for start, time in enumerate(times)]
    tell(api, path, {"dataLoss": {"records": 3, "ranges": 3, "latest": latest}})
    assert times[1] in succeeded(plugin("acknowledge", NAME))
    assert annotations(api, path) == {ACKNOWLEDGED: times[1]}


def test_a_command_line_that_makes_no_sense(plugin: Plugin) -> None:
    for arguments, words in (
        (("stop", NAME), "there is no command 'stop'"),
        (("status",), "status needs the name of a LogPersister"),
        (("status", NAME, "other"), "'other' is one name too many"),
        (("pause", NAME, "--all"), "--all belongs to promote"),
        (("pause", NAME, "--force"), "--force is not an option"),
        (("pause", NAME, "--context="), "--context needs a value"),
    ):
        assert words in refused(plugin(*arguments), code=2)
    assert 'context "other" does not exist' in refused(plugin("status", NAME, "--context=other"))
    assert succeeded(plugin("--help")).startswith("Show and steer LogPersisters")
    assert "kubectl logpersister promote NAME --all" in refused(plugin(), code=2)


def test_types(plugin: Plugin, api: Client, path: str) -> None:
    tell(api, path, {"summary": {"state": "MembersReady"}})
    assert "No records by type are known" in succeeded(plugin("types", NAME))
    numbers = {"count": 3, "records": 12345678901, "bytes": 1, "quarantined": 7, "dropped": 2}
    stalest = [{"topic": "clicks", "type": "refund", "newest": TIME}]
    refused_most = [{"topic": "clicks", "type": "order", "quarantined": 7}]
    tell(api, path, {"types": {**numbers, "stalest": stalest, "mostQuarantined": refused_most}})
    assert succeeded(plugin("types", NAME)).splitlines() == [
        "12345678901 records of 3 types since the members started; 7 in quarantine, 2 left out",
        "",
        "NEWEST RECORD             TYPE",
        f"{TIME:24}  clicks refund",
        "",
        "IN QUARANTINE             TYPE",
        f"{7:<24}  clicks order",
    ]
