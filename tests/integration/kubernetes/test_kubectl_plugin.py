"""``kubectl logpersister``: kubectl finds the plugin, which reads what the operator wrote and sets annotations."""

import json
import re
import tarfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from logpersister.manifest.blocks.rollout import ABORT, PROMOTE, RETRY
from logpersister_operator.decide.decision import PAUSED_ANNOTATION
from logpersister_operator.decide.health.data_losses import ACKNOWLEDGED
from logpersister_operator.render.ownership import RESOURCE_LABEL
from logpersister_operator.render.workload import RESTART_ANNOTATION
from tests.integration.kubernetes.conftest import Plugin, Said
from tests.integration.kubernetes.judge import COLLECTION
from tests.integration.kubernetes.test_crd_kubectl import full_status
from tests.stack.kubernetes import Client
from tests.unit.collectors.samples import collector
from tests.unit.manifest.documents import DOCUMENT

pytestmark = pytest.mark.usefixtures("crd")

NAME = "clicks-backup"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
TIME = "2026-11-21T12:00:00Z"


@pytest.fixture
def path(api: Client, namespace: str) -> str:
    """Of a resource that no operator has looked at."""
    api.create(COLLECTION.format(namespace), DOCUMENT)
    return f"{COLLECTION.format(namespace)}/{NAME}"


def of_kind(api: Client, namespace: str, plural: str, document: dict[str, Any], status: dict[str, Any]) -> str:
    """Make a resource of another kind, as the operator has left it; return its path."""
    collection = f"/apis/logpersister.dev/v1alpha1/namespaces/{namespace}/{plural}"
    metadata = {"name": document["metadata"]["name"]}
    api.create(collection, document | {"metadata": metadata})
    path = f"{collection}/{metadata['name']}"
    tell(api, path, status)
    return path


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
    tell(api, path, full_status() | {"observedGeneration": 1})
    told = re.sub(r"x{9,}", "x", succeeded(plugin("status", NAME)))
    assert "<no value>" not in told
    assert "%!" not in told
    for line in (
        f"Name:       {NAME} in namespace ",
        "State:      state0x\n",
        "Members:    members0x ready\n",
        rf"Rollout:    Halted since {TIME}, from revision stable0x, to revision candidate0x, step \d+\n",
        f"looks wrong since {TIME}: cause0x\n",
        f"revision revision0x failed at {TIME}: cause0x\n",
        "Lag:        lag0x records, the oldest for lagAge0x\n",
        f"Failed:     reason0x at {TIME}: message0x\n",
        r"Lost:       \d+ records in \d+ ranges\n",
        rf"Types:      \d+ with records, \d+ records in quarantine, \d+ left out; newest of type0x is of {TIME}\n",
        "  type0x +Unknown +reason0x +since",
    ):
        assert re.search(line, told), f"{line}: {told}"
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
    for command in ("status", "lag", "promote", "abort", "retry", "restart", "acknowledge"):
        assert f"no operator has looked at {NAME} yet" in refused(plugin(command, NAME))
    assert '"other" not found' in refused(plugin("status", "other"))
    assert '"other" not found' in refused(plugin("pause", "other"))


def test_lag(plugin: Plugin, api: Client, path: str) -> None:
    worst = [
        {"topic": "clicks", "partition": 3, "records": 12345678901, "seconds": 90, "stuck": True},
        {"topic": "clicks", "partition": 10, "records": 7},
        {"topic": "clicks", "partition": 11, "records": 1, "seconds": 0},
    ]
    lag = {"records": 12345678908, "seconds": 90, "partitions": 12, "behind": 3, "worst": worst}
    condition = {
        "type": "LagWithinTarget",
        "status": "False",
        "reason": "Behind",
        "message": "late",
        "lastTransitionTime": TIME,
    }
    tell(api, path, {"lag": lag, "conditions": [condition]})
    assert succeeded(plugin("lag", NAME)).splitlines() == [
        "12345678908 records behind in 3 of 12 partitions, the oldest for 90 s",
        "",
        "     RECORDS    SECONDS  PARTITION",
        " 12345678901         90  clicks-3  stands still",
        "           7          -  clicks-10",
        "           1          0  clicks-11",
        "",
        "Behind: late",
    ]
    tell(api, path, {"lag": {"records": 0, "seconds": 0, "partitions": 12, "behind": 0}})
    assert succeeded(plugin("lag", NAME)).splitlines() == ["0 records behind in 0 of 12 partitions"]
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
    assert f"kubectl logpersister retry {NAME}" in refused(plugin("promote", NAME))
    tell(api, path, {"rollout": {"phase": "Steady", "since": TIME, "stable": "a" * 12}})
    assert "there is nothing to promote: the rollout of clicks-backup is Steady" in refused(plugin("promote", NAME))
    tell(api, path, {})
    assert "is not known" in refused(plugin("promote", NAME))
    assert annotations(api, path) == {}


def test_a_rollout_is_aborted_and_tried_again(plugin: Plugin, api: Client, path: str) -> None:
    began, failed = "2026-11-21T11:00:00Z", "2026-11-21T11:07:00Z"
    tell(api, path, rolling("Canary", began=began))
    assert f"retry {NAME}" in succeeded(plugin("abort", NAME))
    assert annotations(api, path)[ABORT] == f"{'b' * 12}.{began}"
    assert "nothing to try again: the rollout of clicks-backup is Canary" in refused(plugin("retry", NAME))
    other = {"revision": "c" * 12, "attempt": 0, "cause": "it crashes", "time": TIME}
    tell(api, path, rolling("Halted", failures=[other, other | {"revision": "b" * 12, "time": failed}]))
    succeeded(plugin("abort", NAME))
    assert annotations(api, path)[ABORT] == f"{'b' * 12}.{failed}"
    assert f"which failed at {failed}, is tried again" in succeeded(plugin("retry", NAME))
    assert annotations(api, path)[RETRY] == f"{'b' * 12}.{failed}"
    tell(api, path, {"rollout": {"phase": "Steady", "since": TIME, "stable": "a" * 12}})
    assert "there is nothing to abort" in refused(plugin("abort", NAME))
    tell(api, path, {"rollout": {"phase": "Starting", "since": TIME, "candidate": "a" * 12}})
    assert f"kubectl logpersister pause {NAME}" in refused(plugin("abort", NAME))


def test_a_restart_waits_for_the_end_of_a_rollout(plugin: Plugin, api: Client, path: str) -> None:
    tell(api, path, rolling("Rolling", began=TIME))
    assert "a rollout replaces the members of clicks-backup: it is Rolling" in refused(plugin("restart", NAME))
    tell(api, path, {"rollout": {"phase": "Steady", "since": TIME, "stable": "a" * 12}})
    succeeded(plugin("restart", NAME))
    asked = datetime.fromisoformat(annotations(api, path)[RESTART_ANNOTATION])
    assert timedelta(0) <= datetime.now(UTC) - asked < timedelta(minutes=1)


PASSWORD = "correct-horse"
LOGIN = {"name": "LOGIN", "value": f"{PASSWORD}\n  of two lines"}
POD_SPEC = {"serviceAccountName": "default", "containers": [{"name": "member", "image": "x", "env": [LOGIN]}]}


def test_a_diagnosis_has_everything_but_secrets(plugin: Plugin, api: Client, path: str, tmp_path: Path) -> None:
    resource = api.get(path)
    namespace = resource["metadata"]["namespace"]
    resource["spec"]["podTemplate"] = {"spec": POD_SPEC}
    resource["metadata"]["annotations"] = {LAST_APPLIED: json.dumps(resource)}
    api.replace(path, resource)
    tell(api, path, {"summary": {"state": "MembersReady"}})
    core, pod = f"/api/v1/namespaces/{namespace}", f"{NAME}-{'a' * 12}-0"
    metadata = {"name": pod, "labels": {RESOURCE_LABEL: NAME}}
    api.create(
        f"{core}/serviceaccounts", {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
    )
    api.create(f"{core}/pods", {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": POD_SPEC})
    manifest = json.dumps({"spec": resource["spec"]}, indent=2)
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"manifest.json": manifest}}
    api.create(f"{core}/configmaps", config)
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": {"password": PASSWORD}}
    api.create(f"{core}/secrets", secret)
    for name, about in ((pod, "Failed to pull image"), ("other-0", "of something else")):
        event = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": name}, "reason": "Failed", "message": about}
        involved = {"kind": "Pod", "name": name, "namespace": namespace}
        api.create(f"{core}/events", event | {"type": "Warning", "involvedObject": involved})
    bundle = tmp_path / "bundle.tar.gz"
    assert "bundle.tar.gz has what is known of" in succeeded(plugin("diagnose", NAME, "--file", str(bundle)))
    with tarfile.open(bundle) as archive:
        files = {Path(one.name).name: archive.extractfile(one) for one in archive.getmembers() if one.isfile()}
        texts = {name: file.read().decode() for name, file in files.items() if file is not None}
    assert {name for name, text in texts.items() if PASSWORD in text or "two lines" in text} == set()
    assert "state: MembersReady" in texts["resource.yaml"]
    container = yaml.safe_load(texts["resource.yaml"])["spec"]["podTemplate"]["spec"]["containers"][0]
    assert container["env"] == [{"name": "LOGIN", "value": "left out"}]
    kinds = [one["kind"] for one in yaml.safe_load(texts["children.yaml"])["items"]]
    assert sorted(kinds) == ["ConfigMap", "Pod"]
    assert '"bucket"' in texts["children.yaml"], "the manifest of a revision is readable"
    assert "Failed to pull image" in texts["events.txt"]
    assert "of something else" not in texts["events.txt"]
    assert texts[f"{pod}.status.json.failed"], "what cannot be had is told"
    assert "bundle.tar.gz exists" in refused(plugin("diagnose", NAME, "--file", str(bundle)))
    assert '"other" not found' in refused(plugin("diagnose", "other"))


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
        (("pause", NAME, "--file=x"), "--file belongs to diagnose"),
        (("pause", NAME, "--force"), "--force is not an option"),
        (("pause", NAME, "--context="), "--context needs a value"),
    ):
        assert words in refused(plugin(*arguments), code=2)
    assert 'context "other" does not exist' in refused(plugin("status", NAME, "--context=other"))
    assert succeeded(plugin("--help")).startswith("Show and steer LogPersisters")
    assert "kubectl logpersister promote NAME --all" in refused(plugin(), code=2)


READY = {"type": "Ready", "status": "True", "reason": "Done", "message": "all is well", "lastTransitionTime": TIME}


def test_a_collector_is_told(plugin: Plugin, api: Client, namespace: str) -> None:
    worst = [
        {"id": "weather", "silent": True, "newAt": TIME, "reason": "the server answers 404"},
        {"id": "prices", "silent": False, "reason": "no route to host"},
    ]
    status = {
        "conditions": [READY],
        "summary": {"state": "ReplicasReady"},
        "replicas": {"desired": 2, "ready": 1, "updated": 0},
        "feeds": {"total": 12345678901, "silent": 1, "failing": 2, "worst": worst},
        "spool": {"records": 7, "bytes": 12345678901, "dropped": 0, "oldest": TIME},
    }
    of_kind(api, namespace, "feedcollectors", collector(), status)
    told = succeeded(plugin("status", "collector/prices"))
    assert told == succeeded(plugin("status", "fc/prices"))
    assert told.splitlines() == [
        f"Name:       prices in namespace {namespace}",
        "State:      ReplicasReady",
        "Replicas:   1 of 2 ready, 0 with the present spec",
        "Feeds:      12345678901, 1 silent, 2 failing",
        f"            silent: weather, newest content of {TIME}: the server answers 404",
        "            failing: prices: no route to host",
        f"Spool:      7 records of 12345678901 bytes wait for Kafka, the oldest since {TIME}; 0 dropped",
        "",
        "Conditions:",
        f"  Ready              True     Done                 since {TIME}",
        "      all is well",
    ]


def test_a_replay_is_told_paused_and_resumed(plugin: Plugin, api: Client, namespace: str) -> None:
    progress = {"offsets": 12345678901, "stored": 45, "estimatedEnd": TIME}
    status = {
        "conditions": [READY],
        "phase": "Running",
        "progress": progress,
        "summary": {"state": "Running", "progress": "0%", "rate": "3.0MiB/s"},
        "groupId": "clicks.g2",
    }
    document = {"apiVersion": "logpersister.dev/v1alpha1", "kind": "LogReplay", "metadata": {"name": "again"}}
    path = of_kind(
        api, namespace, "logreplays", document | {"spec": {"resource": NAME, "generation": 2}}, status
    )  # fmt: skip
    told = succeeded(plugin("status", "replay/again"))
    assert told.splitlines()[1:5] == [
        "State:      Running",
        "Group:      clicks.g2",
        "Progress:   45 of 12345678901 offsets stored, 0%, 3.0MiB/s",
        f"End:        {TIME}, if it goes on like this",
    ]
    assert "kubectl logpersister resume replay/again" in succeeded(plugin("pause", "replay/again"))
    assert api.get(path)["spec"]["suspend"] is True
    assert "Not seen:" in succeeded(plugin("status", "replay/again"))
    assert succeeded(plugin("resume", "replay/again")) == "again goes on\n"
    assert api.get(path)["spec"]["suspend"] is False
    done = {"storedAt": TIME, "switchedAt": TIME, "oldDeletedAt": TIME, "phase": "Switched"}
    tell(api, path, done)
    assert succeeded(plugin("status", "replay/again")).splitlines()[2:5] == [
        f"Stored:     {TIME}",
        f"Switched:   {TIME}",
        f"Deleted:    {TIME}, the old objects",
    ]


def test_a_diagnosis_of_a_collector_has_what_is_its_own(
    plugin: Plugin, api: Client, namespace: str, tmp_path: Path
) -> None:
    of_kind(api, namespace, "feedcollectors", collector(), {"summary": {"state": "ReplicasReady"}})
    for name, label in (("prices-collector-a", "feedcollector.prices"), ("prices-b", "prices")):
        metadata = {"name": name, "labels": {RESOURCE_LABEL: label}}
        config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
        api.create(f"/api/v1/namespaces/{namespace}/configmaps", config)
    bundle = tmp_path / "bundle.tar.gz"
    succeeded(plugin("diagnose", "collector/prices", "--file", str(bundle)))
    with tarfile.open(bundle) as archive:
        texts = {
            Path(one.name).name: file.read().decode()
            for one in archive.getmembers()
            if (file := archive.extractfile(one)) is not None
        }
    assert "kind: FeedCollector" in texts["resource.yaml"]
    assert [one["metadata"]["name"] for one in yaml.safe_load(texts["children.yaml"])["items"]] == [
        "prices-collector-a"
    ]


def test_what_is_not_for_a_kind_is_refused(plugin: Plugin) -> None:
    for arguments, words in (
        (("pause", "collector/prices"), "pause is not for collectors"),
        (("promote", "replay/again"), "promote is not for replays"),
        (("status", "pod/x"), "'pod/x' is none of NAME, collector/NAME and replay/NAME"),
        (("status", "replay/"), "'replay/' is none of"),
    ):
        assert words in refused(plugin(*arguments), code=2)
    for name in ("lp/other", "collector/other", "replay/other"):
        assert '"other" not found' in refused(plugin("status", name))
