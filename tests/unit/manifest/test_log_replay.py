"""The manifest of a replay: what it says, and what it refuses with a remedy."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from logpersister.forms.rule import rules_of
from logpersister.manifest import ManifestError
from logpersister.manifest.load import parse_as
from logpersister.manifest.log_replay import LogReplay, ReplaySpec

ROOT = Path(__file__).parents[3]
STORAGE = {"bucket": "backups", "prefix": "kafka"}


def accepted(**spec: Any) -> LogReplay:
    return parse_as(
        LogReplay,
        {
            "apiVersion": "logpersister.dev/v1alpha1",
            "kind": "LogReplay",
            "metadata": {"name": "again"},
            "spec": {"resource": "clicks", "generation": 2, **spec},
        },
    )


def test_the_example_is_accepted() -> None:
    example = parse_as(LogReplay, yaml.safe_load((ROOT / "examples" / "log-replay.yaml").read_text()))
    spec = example.spec
    assert spec.source.place is not None
    assert (spec.source.place.resource, spec.since, spec.until) == (
        "clicks-backup", "2026-11-21T00:00:00Z", "2026-11-22T00:00:00Z",
    )  # fmt: skip
    assert spec.switch is not None
    assert spec.switch.delete_old is not None
    assert spec.switch.delete_old.after == timedelta(days=7)


def test_a_replay_needs_little() -> None:
    spec = accepted().spec
    assert spec.source.kafka is not None
    assert (spec.source.place, spec.processes, spec.suspend, spec.switch) == (None, 1, False, None)
    assert accepted(source={"backup": {"group": "g", "storage": STORAGE}}).spec.source.place is not None


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({"generation": 1}, "spec.generation: 1 is not within 2 to"),
        ({"source": {}}, "spec.source: needs exactly one of kafka, backup and auto"),
        ({"source": {"kafka": {}, "auto": {"resource": "b"}}}, "and has kafka and auto; write one of them"),
        ({"source": {"auto": {}}}, "spec.source.auto: needs exactly one of resource and storage"),
        ({"source": {"auto": {"storage": STORAGE}}}, "spec.source.auto.group: is needed with storage"),
        (
            {"source": {"auto": {"resource": "b", "group": "g"}}},
            "contradicts resource, whose group is known; remove it",
        ),
        ({"from": "2026-11-21"}, 'spec.from: "2026-11-21" is not a time with its zone; write for example'),
        ({"to": "2026-13-21T00:00:00Z"}, "spec.to: .* is no day or time that there is; correct it"),
        ({"from": "2026-11-22T00:00:00Z", "to": "2026-11-22T01:00:00+02:00"}, "spec.from: .* is not before to"),
        ({"maxBytesPerSecond": "1Ki"}, "spec.maxBytesPerSecond: .* is not within 64Ki to 1Ti"),
        ({"processes": 0}, "spec.processes: 0 is not within 1 to 100"),
        ({"switch": {"deleteOld": {"after": "2y"}}}, "spec.switch.deleteOld.after"),
    ],
)
def test_what_is_refused(spec: dict[str, Any], problem: str) -> None:
    with pytest.raises(ManifestError, match=problem):
        accepted(**spec)


CHANGES: list[tuple[dict[str, Any], str]] = [
    ({"resource": "other"}, "resource"),
    ({"generation": 3}, "generation"),
    ({"source": {"auto": {"resource": "b"}}}, "source"),
    ({"topics": ["a"]}, "topics"),
    ({"from": "2026-11-21T00:00:00Z"}, "from"),
    ({"to": "2026-11-21T00:00:00Z"}, "to"),
    ({"maxBytesPerSecond": "1Mi"}, "maxBytesPerSecond"),
]


@pytest.mark.parametrize(("spec", "field"), [*CHANGES, ({"processes": 2, "suspend": True, "switch": {}}, "")])
def test_only_what_does_not_change_the_plan_may_be_changed(spec: dict[str, Any], field: str) -> None:
    before, after = accepted().spec, accepted(**spec).spec
    rules = [rule for rule in rules_of(ReplaySpec) if rule.is_change]
    assert len(rules) == len(CHANGES)
    found = [finding.at for rule in rules for finding in rule.findings(after, before)]
    assert found == ([(field,)] if field else [])
