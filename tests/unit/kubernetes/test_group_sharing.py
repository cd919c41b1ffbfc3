"""Two resources that want one consumer group: who gets it, and what is told."""

import copy
from typing import Any

import pytest

from logpersister.group.answers import GroupDescription, GroupMember
from logpersister.manifest.secrets import Secrets
from logpersister_operator.act import drain
from logpersister_operator.act.drain import Drain
from logpersister_operator.cluster.kinds import Document
from logpersister_operator.decide.health.group_sharing import claim_of, own_names, share
from logpersister_operator.observe.groups import Groups
from logpersister_operator.observed_state import Claim, ResourceKey
from tests.unit.kubernetes.fake_cluster import FakeCluster
from tests.unit.kubernetes.samples import Life, condition, decide, lag, observed, resource, verdict


def made(
    namespace: str, *, at: str = "2026-11-21T10:00:00Z", name: str = "clicks-backup", status: Any = None, **kafka: Any
) -> Document:
    """Return a resource of a namespace."""
    document = copy.deepcopy(resource())
    document["metadata"] |= {"namespace": namespace, "name": name, "uid": f"{namespace}/{name}"}
    document["metadata"] |= {"creationTimestamp": at}
    document["spec"]["kafka"] |= kafka
    return document | ({} if status is None else {"status": status})


def claim(namespace: str, **changes: Any) -> Claim:
    found = claim_of(made(namespace, **changes))
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
        ("b-1.example:9092", "b-2.example:9092", False),
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


def test_what_names_no_broker_claims_nothing() -> None:
    assert claim_of(made("logs", bootstrapServers="no address")) is None
    document = made("logs")
    del document["spec"]["kafka"]
    assert claim_of(document) is None


# who gets it


def test_without_another_one_the_group_is_its_own() -> None:
    assert verdict(decide(observed()), "GroupShared") == ("False", "OwnGroup")


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
    assert "web/clicks-backup, which was first" in message
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
    assert "web/clicks-backup also names it" in condition(plan, "GroupShared")["message"]
    assert not plan.events


def test_of_two_made_in_one_second_exactly_one_gets_members() -> None:
    documents = [made("logs"), made("web")]
    lives = [Life(document) for document in documents]
    for life, rival in zip(lives, reversed(documents), strict=True):
        found = claim_of(rival)
        assert found is not None
        life.step(rivals=[found])
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
        seen = claim_of(holder.resource)
        assert seen is not None
        other = decide(observed(made("web", at=EARLIER), rivals=[seen]))
        assert verdict(other, "Stalled") == ("True", "GroupShared"), f"paused: {paused}"


def test_nothing_that_runs_is_stopped_when_its_members_have_other_names() -> None:
    life = Life(made("logs", at=LATER))
    life.step()
    life.get_ready()
    plan = life.step(rivals=[claim("web", at=EARLIER, status=running("ffffffffffff"))])
    assert set(life.revisions().values()) == {1}
    assert verdict(plan, "Ready")[0] == "True"
    assert verdict(plan, "Stalled")[0] == "False"
    assert verdict(plan, "GroupShared") == ("True", "GroupShared")
    assert "members of web/clicks-backup are in consumer group" in condition(plan, "GroupShared")["message"]


def test_two_members_never_have_one_name_for_long() -> None:
    younger, older = Life(made("logs", at=LATER)), Life(made("web", at=EARLIER))
    for life in (younger, older):  # as an operator that knew nothing of sharing left them
        life.step()
        life.get_ready()
    assert younger.revisions() == older.revisions()
    told = claim_of(older.resource)
    seen = claim_of(younger.resource)
    assert told is not None
    assert seen is not None
    older.step(rivals=[seen])
    younger.step(rivals=[told])
    plan = younger.step(rivals=[told])
    assert set(younger.revisions().values()) == {0}
    assert set(older.revisions().values()) == {1}
    assert verdict(plan, "Stalled") == ("True", "GroupShared")
    younger.change(output={"compression": "zstd"})
    younger.step(rivals=[told])
    assert sum(younger.revisions().values()) == 0, "who was stopped does not come back under another name"


def test_a_message_names_a_few_of_many() -> None:
    plan = decide(observed(made("logs", at=EARLIER), rivals=[claim(f"web-{number}", at=LATER) for number in range(9)]))
    assert "web-4/clicks-backup and 4 more also name it" in condition(plan, "GroupShared")["message"]


# members of others


def test_members_of_the_other_one_are_not_taken_out_of_the_group() -> None:
    theirs, ours = "clicks-backup-ffffffffffff-0", "clicks-backup-0a1b2c3d4e5f-0"
    group = GroupDescription("Stable", tuple(GroupMember(one, "10.0.0.1", 2, is_static=True) for one in (theirs, ours)))
    other = claim("web", at=EARLIER, status=running("ffffffffffff"))
    known = {"lag": lag(group=group), "names": frozenset({theirs, ours})}
    assert decide(observed(made("logs"), **known)).leave == (ours, theirs), "both are gone for good"
    assert decide(observed(made("logs"), rivals=[other], **known)).leave == (ours,)
    assert own_names([theirs, ours], [other]) == (ours,)
    assert own_names([theirs, ours], []) == (theirs, ours)


def test_nor_are_they_when_the_resource_is_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    removed: list[str] = []
    monkeypatch.setattr(drain, "remove_members", lambda _resource, _secrets, names, _reason: removed.extend(names))
    names = ("clicks-backup-ffffffffffff-0", "clicks-backup-0a1b2c3d4e5f-0")
    deleted = made("logs", status={"members": {"list": [{"name": name} for name in names]}})
    other = claim("web", at=EARLIER, status=running("ffffffffffff"))
    draining = Drain(FakeCluster(), lambda: observed(deleted, rivals=[other]), lambda _: Secrets())
    assert draining.step()
    assert removed == ["clicks-backup-0a1b2c3d4e5f-0"]


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
