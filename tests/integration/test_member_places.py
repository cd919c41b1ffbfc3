"""A change of bucket or prefix: what was promised for the old place is kept there; elsewhere only when it refuses."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.integration.harness.bucket import assert_exactly_once
from tests.integration.harness.faults import stalled_puts
from tests.integration.harness.process import MemberProcess
from tests.integration.harness.scene import PREFIX, Scene
from tests.stack import MinioServer
from tests.stack.fault_proxy import FaultProxy

CreateTopic = Callable[..., str]

OTHER = "other"
RECORDS = 300


def killed_in_the_middle(scene: Scene, s3_proxy: FaultProxy, name: str, manifest: Path) -> None:
    """Leave a promise behind of which nothing is stored."""
    scene.workload.write(name, RECORDS, size=1_000)
    fault = stalled_puts(f"/{name}/")
    s3_proxy.inject(fault)
    member = scene.member(manifest)
    member.wait("the object is on its way", lambda: fault.met)
    member.kill()
    member.wait_gone()
    s3_proxy.clear()
    assert scene.group.pending(name) == {0: (RECORDS,)}
    scene.workload.write(name, RECORDS, size=1_000)


def places(scene: Scene, name: str) -> dict[str, list[tuple[int, int]]]:
    """Return the ranges that are stored, by prefix."""
    return {
        prefix: sorted((one.start, one.end) for one in scene.bucket_at(prefix).objects(name))
        for prefix in (PREFIX, OTHER)
    }


def test_a_promise_for_the_old_prefix_is_kept_there_by_who_stores_under_the_new_one(
    scene: Scene, topic: CreateTopic, s3_proxy: FaultProxy
) -> None:
    """With its format, generation and size: all of a revision stays with its promise."""
    name = topic()
    settings: dict[str, Any] = {"kafka": {"topics": [name]}}
    old = scene.manifest(**settings, storage={"endpoint": s3_proxy.endpoint})
    killed_in_the_middle(scene, s3_proxy, name, old)

    changed = {"output": {"sequencefile": {}}, "upload": {"maxBytes": "64Ki"}}
    scene.run_until_current(scene.manifest(**settings, **changed, generation=2, storage={"prefix": OTHER}))

    (first,), others = (scene.bucket_at(prefix).objects(name) for prefix in (PREFIX, OTHER))
    assert (first.generation, first.start, first.end, first.extension) == (1, 0, RECORDS, ".txt.gz")
    assert {(one.generation, one.extension) for one in others} == {(2, ".seq")}
    assert others[0].start == RECORDS
    assert len(others) > 1, "the new maxBytes applies to what the new revision has promised"
    assert first.metadata["revision"] != others[0].metadata["revision"]
    assert_exactly_once([first, *others], scene.workload.produced(name))


@pytest.mark.soak
@pytest.mark.parametrize("may", ["read", "nothing"])
def test_what_a_withdrawn_revision_promised_for_a_place_that_refuses_is_kept_in_the_old_one(
    scene: Scene, topic: CreateTopic, s3_proxy: FaultProxy, minio: MinioServer, secrets_dir: Path, may: str
) -> None:
    """Keys that may read and write under the old prefix; under the new one only read, or not even that."""
    name = topic()
    settings: dict[str, Any] = {"kafka": {"topics": [name]}}
    canary = scene.manifest(**settings, storage={"prefix": OTHER, "endpoint": s3_proxy.endpoint})
    killed_in_the_middle(scene, s3_proxy, name, canary)
    bucket = f"arn:aws:s3:::{scene.bucket.name}"
    readable = f"{bucket}/*" if may == "read" else f"{bucket}/{PREFIX}/*"
    keys = minio.keys_for(
        {"Effect": "Allow", "Action": ["s3:ListBucket*"], "Resource": [bucket]},
        {"Effect": "Allow", "Action": ["s3:GetObject"], "Resource": [readable]},
        {"Effect": "Allow", "Action": ["s3:*Object*", "s3:*Multipart*"], "Resource": [f"{bucket}/{PREFIX}/*"]},
    )
    secret = secrets_dir / "old-prefix"
    secret.mkdir()
    for key, value in keys.items():
        (secret / key).write_text(value)

    member = scene.run_until_current(scene.manifest(**settings, storage={"secretName": secret.name}))

    found = places(scene, name)
    assert found[OTHER] == []
    assert (0, RECORDS) in found[PREFIX], "with the boundaries that were promised"
    scene.assert_stored(name)
    assert told(member) == [{"topic": name, "partition": 0, "start": 0, "ends": [RECORDS]}]
    given_up = member.events("place.given_up")
    assert [event["place"] for event in given_up] == ([f"{scene.bucket.name}/{OTHER}"] if may == "read" else [])


def told(member: MemberProcess) -> list[dict[str, Any]]:
    """Return what the log says of promises that moved."""
    names = ("topic", "partition", "start", "ends")
    return [{key: event[key] for key in names} for event in member.events("partition.moved")]
