"""A change of prefix: what was promised for the old place is kept there; one that refuses is played by the model."""

from pathlib import Path
from typing import Any

from tests.integration.harness.bucket import assert_exactly_once
from tests.integration.harness.faults import stalled_puts
from tests.integration.harness.scene import PREFIX, CreateTopic, Scene
from tests.stack.fault_proxy import FaultProxy

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
