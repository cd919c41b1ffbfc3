"""What the operator decides about a FeedCollector."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from logpersister.cli.arguments import parser
from logpersister.cli.context import collector as read_collector
from logpersister.forms.sparse import sparse
from logpersister_operator.cluster.kinds import Document
from logpersister_operator.collectors.decide import decide
from logpersister_operator.collectors.observed import CollectorState
from logpersister_operator.observed_state import MemberReport, Refusal, ResourceKey, labelled
from logpersister_operator.plan import Plan
from tests.unit.collectors.samples import NAME, collector, feed, running, says, state

GOLDEN = Path(__file__).parent / "golden"
SPECS: dict[str, dict[str, Any]] = {
    "small": {},
    "large": {
        "replicas": 3,
        "feeds": [
            feed(headers={"Authorization": "Bearer ${secret:shop/token}"}, caSecretName="shop-ca"),
            feed("weather", method="POST", body="${secret:weather/key}", proxy="http://${secret:proxy/login}@p:1"),
        ],
        "kafka": {
            "bootstrapServers": "kafka:9092",
            "topic": "feeds",
            "security": {"protocol": "SSL", "caSecretName": "kafka-ca"},
        },
        "spool": {"maxBytes": "2Gi", "volumeClaim": {"size": "3Gi", "storageClassName": "fast"}},
        "shutdownGrace": "1m",
        "networkPolicy": "Restricted",
        "serviceAccount": {"annotations": {"eks.amazonaws.com/role-arn": "arn:aws:iam::1:role/feeds"}},
        "podTemplate": {"metadata": {"labels": {"team": "shop"}}, "spec": {"nodeSelector": {"disk": "ssd"}}},
    },
}


def condition(plan: Plan, kind: str) -> tuple[str, str]:
    found = next(one for one in plan.status["conditions"] if one["type"] == kind)
    return found["status"], found["reason"]


def message(plan: Plan, kind: str) -> str:
    return str(next(one["message"] for one in plan.status["conditions"] if one["type"] == kind))


def started(document: Document | None = None, **known: Any) -> CollectorState:
    """Return a collector whose replicas run as the spec says."""
    wanted = decide(state(document)).apply
    return state(document, running(wanted), **known)


@pytest.mark.parametrize("name", SPECS)
def test_children(name: str) -> None:
    file, plan = GOLDEN / f"{name}.yaml", decide(state(collector(**SPECS[name])))
    assert plan.apply, plan.status
    text = yaml.dump_all(plan.apply, Dumper=_Dumper, sort_keys=False, width=110)
    if os.environ.get("UPDATE_GOLDEN") == "1":
        file.write_text(text)
        pytest.skip(f"{file.name} is written anew, and compared with nothing")
    assert text == file.read_text(), f"{file.name} differs; UPDATE_GOLDEN=1 writes it anew"


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, _data: Any) -> bool:
        return True


def test_replicas_read_what_the_resource_says(tmp_path: Path) -> None:
    document = collector(**SPECS["large"])
    children = {one["kind"]: one for one in decide(state(document)).apply}
    (tmp_path / "resource.json").write_text(children["ConfigMap"]["data"]["resource.json"])
    (container,) = children["StatefulSet"]["spec"]["template"]["spec"]["containers"]
    arguments = parser().parse_args(container["args"])
    assert str(arguments.file) == "/etc/logpersister/resource.json"
    assert "/etc/logpersister" in [mount["mountPath"] for mount in container["volumeMounts"]]
    read = read_collector(str(tmp_path / "resource.json"))
    wanted = state(document).parsed.manifest
    assert wanted is not None
    theirs, ours = sparse(read.spec), sparse(wanted.spec)
    assert {name: ours.pop(name) for name in ("networkPolicy", "podTemplate", "serviceAccount")}
    assert theirs == ours


def test_every_object_tells_whose_it_is_and_that_of_a_logpersister_of_the_same_name_is_another() -> None:
    for one in decide(state()).apply:
        label = one["metadata"]["labels"]["logpersister.dev/resource"]
        assert labelled("shop", label) == ResourceKey("shop", "prices", "FeedCollector")
    assert labelled("shop", "prices") == ResourceKey("shop", "prices", "LogPersister")


def test_it_becomes_ready_and_rests() -> None:
    first = decide(state())
    assert condition(first, "Ready") == ("False", "ReplicasNotReady")
    assert condition(first, "Reconciling") == ("True", "StartingReplicas")
    assert condition(first, "FeedsSpeaking") == ("Unknown", "NoReplicaAnswers")
    replicas = [f"{NAME}-{number}" for number in range(2)]
    plan = decide(started(reports=dict.fromkeys(replicas, says(records=2, bytes=2048))))
    assert not plan.delete
    assert condition(plan, "Ready") == ("True", "ReplicasReady")
    assert condition(plan, "Reconciling") == ("False", "UpToDate")
    assert condition(plan, "FeedsSpeaking") == ("True", "FeedsSpeak")
    assert condition(plan, "KafkaReachable") == ("True", "KafkaTakesRecords")
    assert plan.status["summary"] == {"replicas": "2/2", "spool": "4Ki", "state": "ReplicasReady"}


def test_other_feeds_roll_out_and_the_configuration_before_stays_while_a_replica_reads_it() -> None:
    before = running(decide(state()).apply)
    other = collector(generation=2, feeds=[feed(), feed("weather")])
    plan = decide(state(other, before))
    names = [one["metadata"]["name"] for one in plan.apply]
    assert len({*names, *(one["metadata"]["name"] for one in before)}) == 5, (
        "two ConfigMaps, two pods, and what has one name"
    )
    assert not plan.delete
    rolling = running(plan.apply, updated=1, revision=before[-1]["metadata"]["labels"]["logpersister.dev/revision"])
    old = next(one for one in before if one["kind"] == "ConfigMap")
    plan = decide(state(other, [*rolling, old]))
    assert condition(plan, "Reconciling") == ("True", "RollingOut")
    assert not plan.delete
    done = decide(state(other, [*running(plan.apply), old]))
    assert [str(one.reference) for one in done.delete] == [f"ConfigMap {old['metadata']['name']}"]
    pods_only = collector(generation=3, feeds=other["spec"]["feeds"], networkPolicy="Restricted")
    assert decide(state(pods_only)).status["revision"] == done.status["revision"], "replicas need not restart"


def test_what_runs_goes_on_while_the_spec_is_invalid_or_a_secret_is_missing() -> None:
    invalid = collector(generation=2, feeds=[feed(), feed()])
    plan = decide(state(invalid, running(decide(state()).apply)))
    assert (plan.apply, plan.delete) == ((), ())
    assert condition(plan, "SpecValid") == ("False", "SpecInvalid")
    assert condition(plan, "Stalled") == ("True", "SpecInvalid")
    assert 'spec.feeds[1].id: "prices" is the id of feeds[0], too; give each its own' in message(plan, "SpecValid")
    assert "go on with the last valid spec" in message(plan, "SpecValid")
    plan = decide(started(missing=("Secret shop",)))
    assert (plan.apply, condition(plan, "Ready")) == ((), ("False", "SecretMissing"))
    assert message(plan, "Stalled") == "missing: Secret shop; create it, or correct the name in the spec"


def test_more_feeds_than_a_config_map_holds_change_nothing_that_runs() -> None:
    feeds = [feed(f"f{number}", method="POST", body="ü" * 2000) for number in range(262)]
    most = decide(state(collector(feeds=feeds[:-10])))
    (config,) = (one for one in most.apply if one["kind"] == "ConfigMap")
    assert 2**20 - 20_000 < len(config["data"]["resource.json"].encode()) <= 2**20
    plan = decide(state(collector(generation=2, feeds=feeds), running(most.apply)))
    assert (plan.apply, plan.delete, condition(plan, "Stalled")) == ((), (), ("True", "SpecInvalid"))
    assert "spec.feeds: 262 feeds take " in message(plan, "Ready")
    assert "a ConfigMap holds 1,048,576; make two resources of them" in message(plan, "Ready")


def test_what_is_refused_is_told() -> None:
    (reference,) = [one for one in started().children if one.kind == "StatefulSet"]
    plan = decide(started(refusals={reference: Refusal("exceeded quota")}))
    assert condition(plan, "Ready") == ("False", "Refused")
    assert f"the API server refuses StatefulSet {NAME}: exceeded quota" in message(plan, "Stalled")


def test_pods_that_are_refused_are_told() -> None:
    """A quota, or a policy for pods: Kubernetes says so of the StatefulSet alone."""
    made = [one for one in running(decide(state()).apply, ready=0) if one["kind"] != "Pod"]
    (uid,) = state(children=made).unexplained
    plan = decide(state(children=made, told={uid: "exceeded quota: small"}))
    assert condition(plan, "Stalled") == ("True", "Refused")
    assert message(plan, "Ready") == f"0 of 2 pods of {NAME}: exceeded quota: small"


def merged(*reports: MemberReport) -> Plan:
    return decide(started(reports={f"{NAME}-{number}": one for number, one in enumerate(reports)}))


def test_a_feed_is_silent_when_it_is_in_all_replicas() -> None:
    plan = merged(says(silent=["a", "b"], failing=["c"]), says(silent=["b"], failing=["a"]))
    assert plan.status["feeds"] | {"worst": 0} == {"total": 10, "silent": 1, "failing": 1, "worst": 0}
    assert [(one["id"], one["silent"]) for one in plan.status["feeds"]["worst"]] == [
        ("b", True), ("a", False), ("c", False),
    ]  # fmt: skip
    assert condition(plan, "FeedsSpeaking") == ("False", "FeedsSilent")
    assert message(plan, "FeedsSpeaking") == "1 of 10 feeds give nothing new: b (nothing new)"
    assert condition(merged(says(silent=["a"]), says()), "FeedsSpeaking")[0] == "True", "the other replica got it"
    assert condition(merged(says(silent=["a"]), MemberReport(None, "away")), "FeedsSpeaking")[0] == "False"


def test_a_feed_that_never_gave_anything_comes_before_those_that_did() -> None:
    said = says(failing=["a", "b"])
    assert said.document is not None
    said.document["feeds"]["worst"][1]["newAt"] = None
    worst = merged(said).status["feeds"]["worst"]
    assert [(one["id"], "newAt" in one) for one in worst] == [("b", False), ("a", True)]


def test_of_many_silent_feeds_some_are_named() -> None:
    many = [f"f{number:03}" for number in range(50)]
    feeds = merged(says(silent=many, total=99), says(silent=many[10:], total=99)).status["feeds"]
    assert (feeds["silent"], len(feeds["worst"])) == (40, 20)
    few = merged(says(silent=many, total=99), says(silent=["f049", "f048"], total=99)).status["feeds"]
    assert few["silent"] == 2, "those that the second one names, whether the first one names them or not"


def test_kafka_that_is_away_is_told_with_its_cause() -> None:
    plan = merged(says(), says(away="kafka:9092: refused", records=7, bytes=1, oldest="2026-11-28T11:56:00Z"))
    assert condition(plan, "KafkaReachable") == ("False", "KafkaAway")
    assert f"replica {NAME}-1 since 2026-11-28T11:55:00Z: kafka:9092: refused" in message(plan, "KafkaReachable")
    assert plan.status["spool"] == {"records": 7, "bytes": 1, "dropped": 0, "oldest": "2026-11-28T11:56:00Z"}


def test_other_words_count_as_no_answer_and_before_the_first_question_holds_what_held() -> None:
    strange = MemberReport({"feeds": {"silent": "many"}, "kafka": {}, "spool": {}})
    plan = merged(strange)
    assert "feeds" not in plan.status
    known = merged(says(silent=["a"])).status
    document = collector() | {"status": json.loads(json.dumps(known))}
    again = decide(started(document))
    assert again.status["feeds"] == known["feeds"]
    assert condition(again, "FeedsSpeaking") == ("False", "FeedsSilent")
    assert not again.events


def test_a_silent_feed_is_an_event_once() -> None:
    plan = merged(says(silent=["a"]))
    assert [(one.reason, one.warning) for one in plan.events] == [("FeedsSilent", True)]
