"""What people see of it: kubectl applies, compares, prints and explains."""

import json
import re
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from logpersister.report.shadow import Both
from logpersister_operator.crd.status import Condition, Status, Summary
from logpersister_operator.crd.status_autoscale import Autoscale, Scaled, Watch
from logpersister_operator.crd.status_members import MOST_RESTARTS, Member, Members, Rebalance, Restart
from logpersister_operator.crd.status_records import (
    MOST_LOSSES,
    MOST_QUARANTINED,
    MOST_TYPES,
    DataLoss,
    Lag,
    Loss,
    PartitionLag,
    Quarantine,
    QuarantinedRange,
    Types,
    TypeState,
    UploadFailure,
    Uploads,
)
from logpersister_operator.crd.status_rollout import (
    MOST_BEGINNINGS,
    MOST_GENERATIONS,
    Beginning,
    GenerationState,
    Rollout,
    ShadowState,
)
from logpersister_operator.decide.conditions import Aspect
from logpersister_operator.field_types import LONGEST_CAUSE
from logpersister_operator.rollout.evidence import MOST_COUNTED, ReportedCounters, Tally
from logpersister_operator.rollout.record import MOST_FAILURES, Failure, Suspicion, Trial
from logpersister_operator.rollout.shadow_evidence import MOST_EXAMPLES
from logpersister_operator.rollout.transitions import Phase
from tests.integration.kubernetes.judge import COLLECTION
from tests.stack import artifacts
from tests.stack.kubernetes import ApiServer, Client, Refused
from tests.unit.manifest.documents import DOCUMENT, changed
from tests.unit.manifest.rich import RICH

pytestmark = pytest.mark.usefixtures("crd")

EXAMPLES = sorted((Path(__file__).parents[3] / "examples").glob("*.yaml"))
Kubectl = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def kubectl(api_server: ApiServer, namespace: str) -> Kubectl:
    """``kubectl("get", "lp")`` in the namespace of the test."""
    cache = f"--cache-dir={api_server.kubeconfig.with_name('kubectl')}"  # what the API server serves is asked once
    program = [str(artifacts.go_program("kubectl")), f"--kubeconfig={api_server.kubeconfig}", cache]

    def run(*arguments: str, document: Any = None) -> "subprocess.CompletedProcess[str]":
        command = [*program, f"--namespace={namespace}", *arguments]
        text = None if document is None else json.dumps(document)
        return subprocess.run(command, input=text, capture_output=True, text=True, check=False)

    return run


def _with_names_of_their_own() -> list[list[Path]]:
    """Return the examples in as few parts as their names allow: kubectl takes all of a part at once."""
    parts: list[dict[str, Path]] = []
    for example in EXAMPLES:
        name = yaml.safe_load(example.read_text())["metadata"]["name"]
        if all(name in part for part in parts):
            parts.append({})
        next(part for part in parts if name not in part)[name] = example
    return [list(part.values()) for part in parts]


@pytest.mark.parametrize("examples", _with_names_of_their_own(), ids=lambda examples: f"{len(examples)} files")
def test_examples_are_applied_as_they_are(kubectl: Kubectl, examples: list[Path], tmp_path: Path) -> None:
    for example in examples:
        (tmp_path / example.name).write_text(re.sub(r"(?m)^  namespace: .*\n", "", example.read_text()))
    applied = kubectl("apply", "-f", str(tmp_path))
    assert applied.returncode == 0, applied.stderr
    assert _what_became(applied.stdout) == ["created"] * len(examples), applied.stdout
    again = kubectl("apply", "-f", str(tmp_path)).stdout
    assert _what_became(again) == ["unchanged"] * len(examples), again
    compared = kubectl("diff", "-f", str(tmp_path))
    assert (compared.returncode, compared.stdout) == (0, "")


def _what_became(said: str) -> list[str]:
    return [line.rpartition(" ")[2] for line in said.splitlines()]


@pytest.mark.parametrize("document", [DOCUMENT, *RICH], ids=lambda document: document["metadata"]["name"])
def test_what_is_stored_is_what_was_written(api: Client, namespace: str, document: dict[str, Any]) -> None:
    """Nothing is added: whoever compares with Git finds no difference, and applies again without a new version."""
    path = f"{COLLECTION.format(namespace)}/{document['metadata']['name']}"
    stored = api.apply(path, document)
    assert stored["spec"] == document["spec"]
    again = api.apply(path, document)
    assert again["metadata"]["resourceVersion"] == stored["metadata"]["resourceVersion"]


def test_what_is_printed(kubectl: Kubectl, api: Client, namespace: str) -> None:
    path = COLLECTION.format(namespace)
    stored = api.create(path, DOCUMENT)
    now = datetime(2026, 11, 21, tzinfo=UTC)
    status = Status(
        observed_generation=1,
        generation=3,
        revision="0123456789ab",
        conditions=(
            Condition(type="Ready", status="True", reason="Because", message="a", last_transition_time=now),
            Condition(
                type="UploadsSucceeding", status="False", reason="Because", message="a", last_transition_time=now
            ),
        ),
        uploads=Uploads(objects=1, bytes=2, failures=7, failures_last_hour=0),
        summary=Summary(members="2/3", lag="1200", lag_age="42s", uploaded="1.2GiB", state="Storing records"),
    )
    document = stored | {"status": status.model_dump(mode="json", by_alias=True, exclude_none=True)}
    api.replace(f"{path}/clicks-backup/status", document)
    head, row = kubectl("get", "lp").stdout.splitlines()
    assert re.split(r"  +", head.strip()) == (
        ["NAME", "READY", "STORING", "GEN", "MEMBERS", "LAG", "LAG AGE", "UPLOADED", "FAILURES", "STATE", "AGE"]
    )
    assert row.split()[:-1] == (
        ["clicks-backup", "True", "False", "3", "2/3", "1200", "42s", "1.2GiB", "7", "Storing", "records"]
    )
    wide = kubectl("get", "logpersister", "--output=wide").stdout
    assert "Storing records" in wide
    assert "0123456789ab" in wide
    assert kubectl("get", "logpersister", "clicks-backup").returncode == 0


def test_the_status_is_another_door(api: Client, namespace: str) -> None:
    path = COLLECTION.format(namespace)
    stored = api.create(path, DOCUMENT | {"status": {"generation": 5}})
    assert "status" not in stored
    changed_spec = changed({"spec.members": 9, "status": {"generation": 6}}) | {"metadata": stored["metadata"]}
    answer = api.replace(f"{path}/clicks-backup/status", changed_spec)
    assert answer["status"] == {"generation": 6}
    assert "members" not in answer["spec"]
    with pytest.raises(Refused, match="not found"):
        api.get(f"{path}/clicks-backup/scale")


def test_a_status_as_full_as_it_can_be_is_taken(api: Client, namespace: str) -> None:
    """Nothing that the operator's model can hold is refused by the definition."""
    path = COLLECTION.format(namespace)
    stored = api.create(path, DOCUMENT)
    status = full_status()
    answer = api.replace(f"{path}/clicks-backup/status", stored | {"status": status})
    assert answer["status"] == status


def full_status() -> dict[str, Any]:
    now = datetime(2026, 11, 21, 12, tzinfo=UTC)
    worst = [PartitionLag(topic="t" * 249, partition=n, records=2**62, seconds=2**31, stuck=True) for n in range(10)]
    failure = UploadFailure(reason="S3", message="m" * 4096, topic="t", partition=1, start=2, end=3, time=now)
    kinds = [aspect.value for aspect in Aspect]
    full = Status(
        observed_generation=1,
        generation=1,
        revision="a" * 12,
        group_id="g",
        conditions=tuple(
            Condition(
                type=kind,
                status="Unknown",
                reason="Because",
                message="m" * 1000,
                last_transition_time=now,
                observed_generation=1,
            )
            for kind in kinds
        ),
        lag=Lag(records=1, seconds=2, partitions=3, behind=4, worst=tuple(worst)),
        uploads=Uploads(
            objects=1,
            bytes=2**60,
            records=3,
            dropped=1,
            late=1,
            last=now,
            failures=1,
            failures_last_hour=1,
            last_failure=failure,
        ),
        quarantine=Quarantine(
            records=2**62,
            last=now,
            latest=tuple(
                QuarantinedRange(
                    topic="t" * 249, partition=n, offset=2**62, records=1, reason="r" * 4096, key="k" * 1024, time=now
                )
                for n in range(MOST_QUARANTINED)
            ),
        ),
        types=Types(
            count=300,
            records=2**62,
            bytes=2**62,
            quarantined=2,
            dropped=1,
            stalest=tuple(
                TypeState(topic="t" * 249, type=f"{n}" * 100, newest=now, quarantined=0) for n in range(MOST_TYPES)
            ),
            most_quarantined=tuple(
                TypeState(topic="t", type=f"{n}", newest=now, quarantined=9 - n) for n in range(MOST_TYPES)
            ),
        ),
        members=Members(
            desired=1000,
            ready=999,
            list=tuple(
                Member(name=f"clicks-{n}", ready=True, partitions=1, executors=2, revision="a") for n in range(50)
            ),
        ),
        rebalance=Rebalance(
            state="Stable",
            fewest_partitions=1,
            most_partitions=2,
            group_generation=5,
            count=6,
            last=now,
            counted_since=now,
            counted_from=4,
        ),
        restarts=tuple(
            Restart(member=f"clicks-{n}", pod="u" * 64, time=now, count=n + 1, cause="c" * 1024, forced=True)
            for n in range(MOST_RESTARTS)
        ),
        data_loss=DataLoss(
            records=1,
            ranges=MOST_LOSSES,
            latest=tuple(
                Loss(topic="t", partition=1, start=n, end=n + 1, held=True, time=now) for n in range(MOST_LOSSES)
            ),
        ),
        autoscale=Autoscale(
            members=1000,
            watch=Watch(
                lag="WellBelowTarget", since=now, pressure=10**8, partitions=2**31, stored=2**62, written=2**62
            ),
            revision="a" * 12,
            rate=2**62,
            last=Scaled(time=now, before=1, after=2, cause="c" * LONGEST_CAUSE),
        ),
        rollout=full_rollout(now),
        generations=tuple(
            GenerationState(
                generation=n,
                members=1,
                ready=1,
                partitions=10,
                began=tuple(Beginning(topic="t" * 249, partition=one, offset=2**62) for one in range(MOST_BEGINNINGS)),
            )
            for n in range(MOST_GENERATIONS)
        ),
        summary=Summary(members="1/1", lag="1", lag_age="1s", uploaded="1B", state="x", stalest_type="t 1s"),
    )
    document: dict[str, Any] = full.model_dump(mode="json", by_alias=True)
    return document


def full_rollout(now: datetime) -> Rollout:
    cause = "c" * LONGEST_CAUSE
    members = (
        ReportedCounters(member=f"clicks-{n}", started=now, records=2**62, quarantined=1) for n in range(MOST_COUNTED)
    )
    tally = Tally(records=2**62, quarantined=1, told=tuple(members))
    failures = (Failure(revision=f"{n}" * 12, attempt=n, cause=cause, time=now) for n in range(MOST_FAILURES))
    return Rollout(
        phase=Phase.CANARY,
        since=now,
        began=now,
        stable="a" * 12,
        candidate="b" * 12,
        step=1,
        reached=2,
        waiting=now,
        rested=now,
        trial=Trial(
            since=now,
            ranges=1,
            upload_failures=2,
            lag=3,
        ),
        candidate_stored=tally,
        stable_stored=tally,
        flaps=1,
        suspicion=Suspicion(since=now, cause=cause),
        failures=tuple(failures),
        frozen=True,
        shadow=ShadowState(
            group_id="g" * 249,
            prefix="p",
            members=1,
            ready=1,
            records=Both(stable=1, shadow=2),
            objects=Both(stable=1, shadow=2),
            bytes=Both(stable=1, shadow=2),
            examples=(cause,) * MOST_EXAMPLES,
            error=cause,
        ),
    )


def test_every_field_is_explained(kubectl: Kubectl) -> None:
    everything = kubectl("explain", "lp", "--recursive")
    assert everything.returncode == 0, everything.stderr
    explained = kubectl("explain", "lp.spec.upload.maxAge").stdout
    assert "1s to 30d. Default: 15m." in explained
    assert "enum: S3, KMS" in kubectl("explain", "lp.spec.storage.encryption").stdout


def test_a_mistake_is_told_in_words(kubectl: Kubectl) -> None:
    said = kubectl(
        "create", "-f", "-", document=changed({"spec.upload": {"maxAge": "1 hour", "maxBytes": "1Ki"}})
    ).stderr
    assert "is not a duration; write for example 15m, 1h30m or 90s" in said
    assert "is not within 64Ki to 5Ti; write a value from 64Ki to 5Ti" in said
    said = kubectl("create", "-f", "-", document=changed({"spec.memebrs": 2})).stderr
    assert 'unknown field "spec.memebrs"' in said
    said = kubectl("create", "-f", "-", document=changed({"spec.kafka.security": {"protocol": "SASL_SSL"}})).stderr
    assert "spec.kafka.security.mechanism: Required value: is missing: protocol SASL_SSL needs a way to log in" in said
