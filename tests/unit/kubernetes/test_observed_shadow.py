"""What the operator makes of a shadow: children that nothing takes for members, and what they tell."""

import json
from datetime import timedelta
from typing import Any

from logpersister.cli.arguments import parser
from logpersister.manifest import parse
from logpersister.report.shadow import Both, Figures, figures_document
from logpersister_operator.cluster.kinds import Document, Reference
from logpersister_operator.observed_state import MemberReport
from logpersister_operator.plan import Plan
from tests.unit.kubernetes.samples import (
    NOW,
    Running,
    by_reference,
    condition,
    departed,
    pod,
    report,
    resource,
    verdict,
    waiting,
)

SHADOW = {"groupId": "clicks-shadow", "prefix": "shadow", "duration": "2m", "minRanges": 2}
CHANGED: dict[str, Any] = {"output": {"text": {"compression": "zstd"}}}
EXAMPLE = {"topic": "clicks", "partition": 3, "start": 100, "end": 200, "message": "99 records instead of 100"}


class Shadowed(Running):
    """A resource of three members that runs, and gets a revision that is compared first."""

    def __init__(self, name: str = "clicks-backup", **spec: Any) -> None:
        document = resource(members=3, rollout={"shadow": SHADOW}, **spec)
        document["metadata"]["name"] = name
        super().__init__(document)
        self.name = name
        self.step()

    def change(self, **spec: Any) -> Plan:
        self.life.change(**spec)
        plan = self.step()
        (self.new,) = self.life.shadows()
        return plan

    @property
    def stateful_set(self) -> Document:
        return self.life.children[Reference("StatefulSet", f"{self.name[:32]}-{self.new}-shadow")]

    @property
    def manifest(self) -> Any:
        config_map = self.life.children[Reference("ConfigMap", f"{self.name[:32]}-{self.new}-shadow")]
        return parse(json.loads(config_map["data"]["resource.json"]))

    def start(self, **status: Any) -> dict[str, Document]:
        """Let the shadow's pod be there."""
        one = pod(f"{self.stateful_set['metadata']['name']}-0", revision=self.new, **status)
        one["metadata"] |= self.stateful_set["spec"]["template"]["metadata"]
        self.life.children |= by_reference([one])
        return {one["metadata"]["name"]: one}

    def told(
        self, group: str = "", uploads: Document | None = None, lag: Document | None = None, **changes: Any
    ) -> dict[str, MemberReport]:
        """Return what the shadow says."""
        others: dict[str, Any] = {name: part for name, part in (("uploads", uploads), ("lag", lag)) if part is not None}
        figures = Figures(1000, 2, Both(1000, 1000), objects=Both(4, 2), bytes=Both(9000, 7000), checksums_compared=2)
        found = {"partitions": 4, **figures_document(figures), "examples": [], "error": None}
        name = f"{self.stateful_set['metadata']['name']}-0"
        return {name: report(group=group or self.manifest.group_id, shadow=found | changes, **others)}


def matches(selector: dict[str, str], labels: dict[str, str]) -> bool:
    return selector.items() <= labels.items()


def test_it_runs_beside_the_members_in_a_group_of_its_own() -> None:
    shadowed = Shadowed()
    before = {reference: child for reference, child in shadowed.life.children.items() if shadowed.old in reference.name}
    plan = shadowed.change(**CHANGED, generation=2)
    assert plan.status["generation"] == 1, "that of the shadow is not written yet"
    assert (shadowed.life.revisions(), shadowed.life.shadows()) == ({shadowed.old: 3}, {shadowed.new: 1})
    assert before.items() <= shadowed.life.children.items()
    number = int(NOW.timestamp())
    manifest = shadowed.manifest
    assert manifest.group_id == f"clicks-shadow.{shadowed.new}.{number}"
    assert manifest.spec.storage.prefix == f"shadow/{shadowed.new}.{number}"
    assert manifest.spec.output.compression == "zstd"
    assert plan.status["summary"]["state"] == "Shadowing, starting"
    assert verdict(plan, "Reconciling") == ("True", "ComparingShadow")
    assert plan.status["members"]["desired"] == 3
    assert plan.status["rollout"]["shadow"]["groupId"] == manifest.group_id


def test_it_keeps_its_group_and_prefix_though_the_spec_names_others() -> None:
    shadowed = Shadowed()
    shadowed.change(**CHANGED)
    group, prefix = shadowed.manifest.group_id, shadowed.manifest.spec.storage.prefix
    shadowed.change(rollout={"shadow": SHADOW | {"groupId": "other", "prefix": "elsewhere"}})
    shadowed.step(1)
    assert (shadowed.manifest.group_id, shadowed.manifest.spec.storage.prefix) == (group, prefix)
    shadowed.life.annotate(**{"logpersister.dev/paused": "true"})
    shadowed.step(1)
    shadowed.life.annotate()
    shadowed.step(1)
    assert shadowed.manifest.group_id.startswith("other."), "another try"
    assert shadowed.manifest.spec.storage.prefix.startswith("elsewhere/")


def test_its_archives_are_neither_made_nor_copied() -> None:
    archives: dict[str, Any] = {
        "output": {"archive": {}, "partitionBy": [{"date": {"granularity": "hour"}}]},
        "finish": {"policy": ["archive"]},
        "storage": {"bucket": "logs", "prefix": "raw", "copies": [{"bucket": "far", "secretName": "far-s3"}]},
    }
    shadowed = Shadowed(**archives)
    members = shadowed.life.children[Reference("StatefulSet", f"clicks-backup-{shadowed.old}")]
    volumes = members["spec"]["template"]["spec"]["volumes"]
    assert "far-s3" in [one["secret"]["secretName"] for one in volumes if "secret" in one]
    shadowed.change(upload={"maxAge": "1m"})
    assert (shadowed.manifest.spec.finish, shadowed.manifest.spec.storage.copies) == (None, ())


def test_its_pods_are_seen_by_no_selector_of_members() -> None:
    shadowed = Shadowed(networkPolicy="Restricted")
    shadowed.change(**CHANGED)
    labels = shadowed.stateful_set["spec"]["template"]["metadata"]["labels"]
    seen = {}
    for reference, child in shadowed.life.children.items():
        spec = child.get("spec", {})
        selector = spec.get("selector", spec.get("podSelector"))
        if selector is not None:
            seen[reference.kind, reference.name] = matches(selector.get("matchLabels", selector), labels)
    assert {name for name, does in seen.items() if does} == {
        ("NetworkPolicy", "clicks-backup-members"),
        ("StatefulSet", f"clicks-backup-{shadowed.new}-shadow"),
    }
    assert len(seen) == 5


def test_it_reads_what_the_old_revision_reads() -> None:
    storage = {"bucket": "logs", "prefix": "raw", "secretName": "other", "caSecretName": "ca"}
    shadowed = Shadowed(storage=storage)
    shadowed.change(storage=storage | {"secretName": "s3"})
    spec = shadowed.stateful_set["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    arguments = parser().parse_args([one.replace("$(CORES)", "1") for one in container["args"]])
    assert str(arguments.file) == "/etc/logpersister/resource.json"
    assert str(arguments.shadow_of) == "/etc/logpersister-stable/resource.json"
    sources = {one["name"]: one.get("configMap", one.get("secret")) for one in spec["volumes"]}
    mounted = {one["mountPath"]: sources[one["name"]] for one in container["volumeMounts"]}
    assert mounted["/etc/logpersister"] == {"name": f"clicks-backup-{shadowed.new}-shadow"}
    assert mounted["/etc/logpersister-stable"] == {"name": f"clicks-backup-{shadowed.old}"}
    secrets = "/var/run/secrets/logpersister"
    assert [mounted[f"{secrets}/{name}"] for name in ("ca", "s3", "other")] == [
        {"secretName": "ca"},
        {"secretName": "s3"},
        {"secretName": "other", "optional": True},
    ]
    assert len(sources) == len(spec["volumes"])
    assert len(mounted) == len(container["volumeMounts"])


def test_it_passes_when_nothing_differs() -> None:
    shadowed = Shadowed()
    shadowed.change(**CHANGED)
    shadowed.start(ready=True)
    plan = shadowed.step(shadow_reports=shadowed.told(ranges=1))
    assert plan.status["summary"]["state"] == "Shadowing, compared 1,000 records, 0s of 2m"
    plan = shadowed.step(2, shadow_reports=shadowed.told(ranges=1))
    assert plan.status["summary"]["state"] == "Shadowing, compared 1,000 records, 1 of 2 ranges"
    assert plan.status["rollout"]["shadow"]["bytes"] == {"stable": 9000, "shadow": 7000}
    plan = shadowed.step(shadow_reports=shadowed.told())
    found = "its shadow compared 1,000 records in 2 ranges, 0 differences"
    told = f"a canary of revision {shadowed.new} joins the group: {found}"
    assert told in [event.message for event in plan.events if event.reason == "ShadowPassed"]
    assert (shadowed.life.revisions(), shadowed.life.shadows()) == ({shadowed.old: 3, shadowed.new: 1}, {})
    assert "shadow" not in plan.status["rollout"]


def test_one_that_differs_never_joins_the_group() -> None:
    shadowed = Shadowed()
    shadowed.change(**CHANGED)
    shadowed.start(ready=True)
    different = shadowed.told(differences=1, examples=[EXAMPLE])
    plan = shadowed.step(shadow_reports=different)
    assert plan.status["summary"]["state"] == "Shadowing, looks wrong"
    plan = shadowed.step(1, shadow_reports=different)
    assert verdict(plan, "Stalled") == ("True", "RolloutFailed")
    expected = "1 difference from what the old revision stores: clicks partition 3 offsets 100 to 200: 99 records"
    assert expected in condition(plan, "Stalled")["message"]
    assert (shadowed.life.revisions(), shadowed.life.shadows()) == ({shadowed.old: 3}, {})
    assert not any(shadowed.new in reference.name for reference in shadowed.life.children if reference.kind != "Pod")


def test_one_of_which_nothing_can_be_compared_fails_at_the_deadline() -> None:
    shadowed = Shadowed()
    plan = shadowed.change(**CHANGED)
    shadowed.start(ready=True)
    busy = {"known": True, "complete": True, "records": 9, "seconds": 1, "worst": []}
    for minutes, ranges in ((0, 0), (9, 9), (1, 9), (1, 9)):
        uploads = report().document["uploads"] | {"ranges": ranges}  # type: ignore[index]
        plan = shadowed.step(minutes, shadow_reports=shadowed.told(ranges=0, uploads=uploads, lag=busy))
    assert (
        "its shadow committed 9 ranges in 10m00s, of which none could be compared"
        in condition(plan, "Stalled")["message"]
    )


def test_what_an_earlier_try_left_counts_for_nothing() -> None:
    shadowed = Shadowed()
    shadowed.change(**CHANGED)
    left = shadowed.start(ready=True)
    earlier = shadowed.told()
    shadowed.life.change(output={"text": {"compression": "gzip"}})
    shadowed.step(shadow_reports=earlier)
    assert shadowed.life.shadows() == {}
    shadowed.now += timedelta(seconds=30)
    plan = shadowed.change(**CHANGED)
    assert left.keys() == earlier.keys() == {f"clicks-backup-{shadowed.new}-shadow-0"}
    for minutes in (0, 2):
        plan = shadowed.step(minutes, shadow_reports=earlier)
    assert plan.status["summary"]["state"] == "Shadowing, starting"
    shadowed.start(ready=True)
    shadowed.step(shadow_reports=earlier)
    plan = shadowed.step(2, shadow_reports=earlier)
    assert plan.status["summary"]["state"] == "Shadowing, compared 0 records, 0 of 2 ranges"


def test_nothing_that_is_told_of_members_is_told_of_shadows() -> None:
    shadowed = Shadowed()
    shadowed.change(**CHANGED)
    reports = {name: report() for name in shadowed.pods(shadowed.old, 3, ready=True)}
    alone = shadowed.step(reports=reports).status
    shadowed.start(containerStatuses=[waiting("CrashLoopBackOff", restarts=4)])
    beside = shadowed.step(reports=reports, shadow_reports=shadowed.told()).status
    for part in ("members", "uploads", "rebalance", "lag", "generations"):
        assert alone[part] == beside[part], part
    assert departed(shadowed.life.observed(reports=reports)) == ()
