"""Two resources that want one consumer group: who gets it, and what is told."""

import copy
from typing import Any

import pytest

from logpersister.group.answers import GroupDescription, GroupMember
from logpersister.manifest.secrets import Secrets
from logpersister_operator.act import drain
from logpersister_operator.act.drain import Drain, LeavingMembers
from logpersister_operator.cluster.kinds import Document
from logpersister_operator.decide.health.group_sharing import own_names, share
from logpersister_operator.observe.groups import Groups
from logpersister_operator.observe.resource import claim_of
from logpersister_operator.observed_state import Claim, KnownLag, ResourceKey, UnknownLag
from tests.unit.kubernetes.fake_cluster import FakeCluster
from tests.unit.kubernetes.samples import Life, condition, decide, lag, observed, resource, verdict


def made(
    namespace: str,
    *,
    at: str = "2026-11-21T10:00:00Z",
    name: str = "clicks-backup",
    uid: str = "",
    status: Any = None,
    **kafka: Any,
) -> Document:
    """Return a resource of a namespace."""
    document = copy.deepcopy(resource())
    document["metadata"] |= {"namespace": namespace, "name": name, "uid": uid or f"{namespace}/{name}"}
    document["metadata"] |= {"creationTimestamp": at}
    document["spec"]["kafka"] |= kafka
    return document | ({} if status is None else {"status": status})


def claim(namespace: str, **changes: Any) -> Claim:
    return claimed_by(made(namespace, **changes))


def claimed_by(document: Document) -> Claim:
    found = claim_of(document)
    assert found is not None
    return found


def running(revision: str = "0a1b2c3d4e5f", members: int = 2) -> Document:
    return {"revision": revision, "members": {"desired": members, "ready": members}}


EARLIER, LATER = "2026-11-21T09:00:00Z", "2026-11-21T11:00:00Z"


# who shares a group


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("b-1.example:9092,b-2.example:9092", "b-2.example:9092 , b-3.example:9092", True),
        ("b-1.example:9092", "B-1.Example.:9092", True),
        ("b-1.example:9092", "b-1.example:9093", False),
        ("kafka:9092", "kafka:9092", False),
        ("kafka:9092", "kafka.logs.svc.cluster.local:9092", True),
        ("kafka.queue.svc:9092", "kafka.queue:9092", True),
        ("[2001:db8:0::1]:9092", "[2001:DB8::1]:9092", True),
    ],
)
def test_brokers_are_compared_as_they_are_spelt_in_any_namespace(one: str, other: str, *, expected: bool) -> None:
    first, second = claim("logs", bootstrapServers=one), claim("web", bootstrapServers=other)
    assert share(first, second) is share(second, first) is expected


def test_the_group_counts_and_not_the_name() -> None:
    brokers = {"bootstrapServers": "b-1.example:9092"}
    named = claim("web", name="other", groupId="clicks-backup", **brokers)
    assert share(claim("logs", **brokers), named)
    assert not share(claim("logs", groupId="mine", **brokers), claim("web", groupId="yours", **brokers))
    assert not share(named, named), "a resource is no rival of its own"


# who gets it


def test_the_younger_one_gets_no_member_and_says_whose_the_group_is() -> None:
    life = Life(made("logs", at=LATER))
    older = claim("web", at=EARLIER)
    plan = life.step(rivals=[older])
    assert set(life.revisions().values()) == {0}
    assert verdict(plan, "GroupShared") == verdict(plan, "Stalled") == ("True", "GroupShared")
    assert verdict(plan, "Ready") == ("False", "GroupShared")
    assert verdict(plan, "LagWithinTarget") == ("Unknown", "GroupShared"), "it is the lag of another resource"
    assert verdict(plan, "Paused")[0] == "False"
    message = condition(plan, "Stalled")["message"]
    assert "group clicks-backup" in message
    assert "a resource of another namespace, which was first" in message
    assert "web" not in message, "what other teams have is not told"
    assert "another name or another spec.kafka.groupId" in message
    assert plan.status["summary"]["state"] == "GroupShared"
    assert {(event.reason, event.warning) for event in plan.events} == {("GroupShared", True)}
    rest, again = life.step(rivals=[older]), life.step(rivals=[older])
    assert (again.status, [*rest.events, *again.events]) == (rest.status, []), "nothing goes on"


def test_it_starts_when_the_other_one_is_gone() -> None:
    life = Life(made("logs", at=LATER))
    life.step(rivals=[claim("web", at=EARLIER, status=running())])
    plan = life.step()
    assert set(life.revisions().values()) == {1}
    assert verdict(plan, "Stalled")[0] == "False"
    assert [event.reason for event in plan.events] == ["Progressing", "OwnGroup"]


def test_the_older_one_is_told_of_who_waits_and_goes_on() -> None:
    life = Life(made("logs", at=EARLIER))
    plan = life.step(rivals=[claim("web", at=LATER)])
    assert set(life.revisions().values()) == {1}
    assert verdict(plan, "GroupShared") == ("False", "OwnGroup")
    assert "a resource of another namespace also names it" in condition(plan, "GroupShared")["message"]
    assert not plan.events


def test_of_two_made_in_one_second_exactly_one_gets_members() -> None:
    documents = [made("logs"), made("web")]
    lives = [Life(document) for document in documents]
    for life, rival in zip(lives, reversed(documents), strict=True):
        life.step(rivals=[claimed_by(rival)])
    assert sorted(sum(life.revisions().values()) for life in lives) == [0, 1]


def test_who_has_members_keeps_the_group_whoever_is_older() -> None:
    life = Life(made("logs", at=EARLIER))
    plan = life.step(rivals=[claim("web", at=LATER, status=running())])
    assert set(life.revisions().values()) == {0}
    assert verdict(plan, "Stalled") == ("True", "GroupShared")


def test_it_keeps_the_group_while_it_is_paused() -> None:
    holder, older = Life(made("logs", at=LATER)), claim("web", at=EARLIER)
    for _ in range(2):
        holder.step()
        holder.get_ready()
    for paused, members in (("true", 0), ("false", 1)):
        holder.annotate(**{"logpersister.dev/paused": paused})
        plan = holder.step(rivals=[older])
        assert (verdict(plan, "Stalled")[0], set(holder.revisions().values())) == ("False", {members})
        other = decide(observed(made("web", at=EARLIER), rivals=[claimed_by(holder.resource)]))
        assert verdict(other, "Stalled") == ("True", "GroupShared"), f"paused: {paused}"


def test_two_of_one_name_and_one_revision_have_members_of_different_names() -> None:
    # As an operator that knew nothing of sharing left them.
    younger, older = Life.running(made("logs", at=LATER)), Life.running(made("web", at=EARLIER))
    assert younger.revisions() == older.revisions()
    told, seen = claimed_by(older.resource), claimed_by(younger.resource)
    plans = [life.step(rivals=[rival]) for life, rival in ((younger, told), (older, seen))]
    assert [set(life.revisions().values()) for life in (younger, older)] == [{1}, {1}], "nothing that runs is stopped"
    for plan in plans:
        assert [verdict(plan, one)[0] for one in ("Ready", "Stalled", "GroupShared")] == ["True", "False", "True"]
        message = condition(plan, "GroupShared")["message"]
        assert "members of a resource of another namespace are in consumer group" in message
    assert not set(instance_ids(younger)) & set(instance_ids(older)), "nobody throws another one out"


# members of others


def test_members_of_the_other_one_are_not_taken_out_of_the_group() -> None:
    theirs, ours = "clicks-backup-ffffffffffff-0", "clicks-backup-0a1b2c3d4e5f-0"
    other = claim("web", at=EARLIER, status=running("ffffffffffff"))
    known = {"lag": in_group(theirs, ours), "names": frozenset({theirs, ours})}
    assert decide(observed(made("logs"), **known)).leave == (ours, theirs), "both are gone for good"
    assert decide(observed(made("logs"), rivals=[other], **known)).leave == (ours,)
    assert own_names([theirs, ours], [other]) == (ours,)
    assert own_names([theirs, ours], []) == (theirs, ours)


def test_nor_are_they_when_the_resource_is_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    removed: list[str] = []
    monkeypatch.setattr(drain, "remove_members", lambda _resource, _secrets, names, _reason: removed.extend(names))
    names = ("clicks-backup-ffffffffffff-0", "clicks-backup-0a1b2c3d4e5f-0")
    deleted = made(
        "logs",
        uid="1f3a9c2e-0000-4000-8000-000000000000",
        status={"members": {"desired": 2, "ready": 0, "list": [{"name": name, "ready": False} for name in names]}},
    )
    other = claim("web", at=EARLIER, status=running("ffffffffffff"))
    members = LeavingMembers(lambda: observed(deleted, rivals=[other]), lambda _: Secrets())
    assert Drain(FakeCluster(), members.look).step()
    assert sorted(removed) == sorted(["clicks-backup-0a1b2c3d4e5f-0", *(f"{name}.{uid_of(deleted)}" for name in names)])


MINE, THEIRS = "1f3a9c2e-0000-4000-8000-000000000000", "9b00d1e5-0000-4000-8000-000000000000"


def uid_of(document: Document) -> str:
    return str(document["metadata"]["uid"])[:8]


def instance_ids(life: Life) -> list[str]:
    """Return how the group calls the members of a resource, as their pods are told."""
    sets = [child for child in life.children.values() if child["kind"] == "StatefulSet"]
    pods = [(one["metadata"]["name"], one["spec"]["template"]["spec"]["containers"][0]["env"]) for one in sets]
    (variables,) = [{one["name"]: one.get("value", "") for one in env} for _, env in pods]
    return [variables["LOGPERSISTER_INSTANCE_ID"].replace("$(POD_NAME)", f"{name}-0") for name, _ in pods]


def in_group(*names: str) -> KnownLag:
    return lag(
        group=GroupDescription("Stable", tuple(GroupMember(one, "10.0.0.1", 2, is_static=True) for one in names))
    )


def test_members_of_resources_that_no_one_sees_here_are_told_by_their_names() -> None:
    ours, theirs = f"clicks-backup-0a1b2c3d4e5f-0.{MINE[:8]}", f"clicks-backup-0a1b2c3d4e5f-0.{THEIRS[:8]}"
    life = Life(made("logs", uid=MINE))
    life.step(lag=in_group(ours))
    plan = life.step(lag=in_group(ours, theirs))
    assert verdict(plan, "GroupShared") == ("True", "ForeignMembers")
    assert theirs in condition(plan, "GroupShared")["message"]
    assert ours not in condition(plan, "GroupShared")["message"]
    assert [(event.reason, event.warning) for event in plan.events] == [("ForeignMembers", True)]
    assert verdict(plan, "Stalled")[0] == "False"
    assert set(life.revisions().values()) == {1}, "nothing that runs is stopped"
    for unknown in (None, UnknownLag("no broker"), lag()):
        assert verdict(life.step(lag=unknown), "GroupShared") == ("True", "ForeignMembers"), "until it is known better"
    assert verdict(life.step(lag=in_group(ours)), "GroupShared") == ("False", "OwnGroup")
    assert verdict(life.step(), "GroupShared") == ("False", "OwnGroup")


@pytest.mark.parametrize("name", ["clicks-backup-0a1b2c3d4e5f-0", "consumer-1", "a.b", "member-0.9b00d1e5"])
def test_who_is_called_otherwise_may_be_anybody(name: str) -> None:
    plan = decide(observed(made("logs", uid=MINE), lag=in_group(name)))
    assert verdict(plan, "GroupShared") == ("False", "OwnGroup")


# what is known of all resources


class Woken(list[ResourceKey]):
    """Who was told that something changed."""

    def taken(self) -> list[ResourceKey]:
        found = sorted(self)
        self.clear()
        return found


def test_rivals_are_known_and_told_when_one_comes_changes_or_goes() -> None:
    woken = Woken()
    groups = Groups(woken.append)
    brokers = {"bootstrapServers": "b-1.example:9092"}
    logs, web = made("logs", **brokers), made("web", **brokers)
    groups.seen(logs)
    groups.seen(made("far", bootstrapServers="b-9.example:9092"))
    assert groups.rivals(logs) == ()
    assert woken.taken() == []
    groups.seen(web)
    assert [one.key for one in groups.rivals(logs)] == [ResourceKey("web", "clicks-backup")]
    assert woken.taken() == [ResourceKey("logs", "clicks-backup")]
    groups.seen(web | {"status": {"summary": {"lag": "5"}}})
    assert woken.taken() == [], "nothing that matters has changed"
    groups.seen(web | {"status": running()})
    assert woken.taken() == [ResourceKey("logs", "clicks-backup")]
    groups.seen(made("web", bootstrapServers="no address"))
    assert groups.rivals(logs), "what cannot be read runs on with what it was"
    groups.gone(made("web", **brokers) | {"metadata": web["metadata"] | {"uid": "another"}})
    assert groups.rivals(logs), "one of the same name has come after it"
    groups.gone(web)
    assert groups.rivals(logs) == ()
    assert woken.taken() == [ResourceKey("logs", "clicks-backup")]
    groups.gone(web)
