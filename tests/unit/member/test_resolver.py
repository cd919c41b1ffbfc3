from collections.abc import Mapping
from typing import Any

import pytest
import structlog

from logpersister.manifest.revisions.revision import Revision, revision_of, revision_of_document
from logpersister.member.commits import Committer
from logpersister.member.listener import Listener
from logpersister.member.ports import Dependencies
from logpersister.member.resolver import STALE_SECONDS, Resolver
from logpersister.member.topic_bindings import TopicBindings
from logpersister.pipeline.rules import rules_of
from logpersister.plan.holds import HoldReason
from logpersister.plan.intents import CommittedOffset, OffsetMetadata
from logpersister.plan.partitions import PartitionStates
from logpersister.plan.recovery import StoredRange
from logpersister.ranges import TopicPartition
from logpersister.storage.errors import StorageError
from logpersister.storage.facts import ForeignObjectError
from logpersister.storage.topics import TopicNote
from tests.unit.member.fakes import CLICKS, ORDERS, PLACE, TOPIC_ID, FakeDependencies, manifest


def resolver_in(
    fakes: FakeDependencies, ports: Dependencies | None = None, **kafka: Any
) -> tuple[Resolver, PartitionStates]:
    resource, revision = manifest(**kafka)
    states, ports = PartitionStates(1), ports or fakes.ports()
    states.own(fakes.group.tokens)
    topic_bindings = TopicBindings(ports.state_store, 1, fakes.clock)
    ours: dict[str, Any] = {revision.hash: revision.document}
    committer = Committer(states, ports.register, ports.state_store, topic_bindings, ours, 1, Listener())
    return Resolver(resource, revision, states, ports, committer, ours, topic_bindings, clock=fakes.clock), states


def resolved(
    fakes: FakeDependencies, ports: Dependencies | None = None, **kafka: Any
) -> tuple[Resolver, PartitionStates]:
    """Return a resolver that has resolved once."""
    resolver, states = resolver_in(fakes, ports, **kafka)
    resolver.resolve()
    return resolver, states


def held(states: PartitionStates) -> dict[str, HoldReason]:
    return {partition.topic: hold.reason for partition, hold in states.held().items()}


def stored(start: int, end: int, revision: str = "rev") -> StoredRange:
    return StoredRange(start, end, "backup", revision, TOPIC_ID, whole=True)


@pytest.mark.parametrize(("start_from", "position"), [("earliest", 3), ("latest", 9), ("2026-01-01T00:00:00Z", 9)])
def test_a_partition_without_a_trace_begins_where_the_manifest_says_and_that_is_committed(
    fakes: FakeDependencies, start_from: str, position: int
) -> None:
    fakes.offsets.start[CLICKS], fakes.offsets.end[CLICKS] = 3, 9
    _resolver, states = resolved(fakes, startFrom=start_from)
    assert states.idle() == {CLICKS: position}
    assert fakes.register.sent == [
        (CLICKS, CommittedOffset(position, OffsetMetadata(TOPIC_ID, 1, since=position)), True)
    ]


def under(rules: Mapping[str, int], **kafka: Any) -> Revision:
    """Return a revision of another manifest, and of a build with these rules."""
    resource, _ = manifest(startFrom="latest", **kafka)
    return revision_of(resource, "0.9", rules)


def test_an_intent_of_a_build_with_other_rules_is_promised_anew_under_ours(fakes: FakeDependencies) -> None:
    theirs = under({"names": 1, "format:text": 7})
    fakes.state_store.revisions[theirs.hash] = theirs.document
    fakes.register.kafka[CLICKS] = CommittedOffset(
        5, OffsetMetadata(TOPIC_ID, 1, theirs.hash, (8, 9), since=3, place=PLACE)
    )
    resolver, states = resolved(fakes)
    (intent,) = states.pending()
    assert (intent.start, intent.ends, intent.place) == (5, (8, 9), PLACE), "the same ranges"
    anew = fakes.state_store.revisions[intent.revision]
    assert revision_of_document(anew).hash == intent.revision
    assert anew["rules"] == {"names": 1, "format:text": 1}
    assert anew["original"] == {"revision": theirs.hash, "rules": theirs.document["rules"]}
    assert resolver.snapshots.documents[intent.revision] == anew
    assert resolver.snapshots.named_by_objects(intent) == theirs.hash
    assert fakes.register.sent == [
        (CLICKS, CommittedOffset(5, OffsetMetadata(TOPIC_ID, 1, intent.revision, (8, 9), 3, PLACE)), True)
    ]

    after, states = resolver_in(fakes)
    after.resolve()
    assert [one.revision for one in states.pending()] == [intent.revision]
    assert len(fakes.register.sent) == 1, "once"


def test_an_intent_of_a_build_with_our_rules_is_executed_as_it_is(fakes: FakeDependencies) -> None:
    resource, _ = manifest(startFrom="latest")
    for document in (revision_of(resource, "0.9", rules_of(resource)), revision_of(resource, "0.8")):
        fakes.state_store.revisions[document.hash] = document.document
        fakes.register.kafka[CLICKS] = CommittedOffset(5, OffsetMetadata(TOPIC_ID, 1, document.hash, (8,)))
        _resolver, states = resolved(fakes)
        assert [one.revision for one in states.pending()] == [document.hash]
    assert fakes.register.sent == []


def test_what_cannot_be_promised_anew_stays_as_it_is(fakes: FakeDependencies) -> None:
    """In another place nothing is left, and a release cannot execute what it does not know."""
    elsewhere, newer = under({"names": 7}), under({"names": 7}).document
    newer = {**newer, "spec": {**newer["spec"], "news": True}}
    unknown = revision_of_document(newer)
    fakes.state_store.elsewhere[elsewhere.hash] = elsewhere.document
    fakes.state_store.revisions[unknown.hash] = unknown.document
    for revision, place in ((elsewhere, "others/raw"), (unknown, PLACE)):
        fakes.register.kafka[CLICKS] = CommittedOffset(5, OffsetMetadata(TOPIC_ID, 1, revision.hash, (8,), place=place))
        _resolver, states = resolved(fakes)
        assert [(one.revision, one.place) for one in states.pending()] == [(revision.hash, place)]
    assert fakes.register.sent == []


@pytest.mark.parametrize("snapshot", [None, {"spec": "somebody changed it"}, StorageError("damaged", "is not JSON")])
def test_an_intent_whose_snapshot_is_missing_or_changed_is_held(fakes: FakeDependencies, snapshot: Any) -> None:
    _, theirs = manifest(startFrom="latest")
    fakes.register.kafka[CLICKS] = CommittedOffset(5, OffsetMetadata(TOPIC_ID, 1, theirs.hash, (8, 9)))
    if isinstance(snapshot, dict):
        fakes.state_store.revisions[theirs.hash] = snapshot
    elif snapshot is not None:
        fakes.state_store.error = snapshot
    _resolver, states = resolved(fakes)
    assert held(states) == {"clicks": HoldReason.REVISION_MISSING}
    assert list(states.runnable(fakes.time)) == []


def promised_elsewhere(fakes: FakeDependencies, generation: int = 1) -> Revision:
    """Let Kafka have a promise of a revision that stores in another bucket."""
    _, theirs = manifest(startFrom="latest")
    metadata = OffsetMetadata(TOPIC_ID, generation, theirs.hash, (8, 9), since=3, place="others/raw")
    fakes.register.kafka[CLICKS] = CommittedOffset(5, metadata)
    return theirs


@pytest.mark.parametrize(
    "snapshot",
    [None, {"spec": "somebody changed it"}, *(StorageError(kind, "no") for kind in ("unauthorized", "damaged"))],
)
def test_an_intent_for_another_place_is_kept_in_ours_when_that_does_not_let_us_in(
    fakes: FakeDependencies, snapshot: Any
) -> None:
    theirs = promised_elsewhere(fakes)
    if snapshot is not None:
        fakes.state_store.elsewhere[theirs.hash] = snapshot
    resolver, _ = resolver_in(fakes)
    with structlog.testing.capture_logs() as logs:
        resolver.resolve()
    moved = {"topic": "clicks", "partition": 0, "start": 5, "ends": [8, 9], "place": PLACE}
    assert [one for one in logs if one["event"] == "partition.moved"] == [
        {**moved, "event": "partition.moved", "log_level": "info"}
    ]
    ours = OffsetMetadata(TOPIC_ID, 1, manifest()[1].hash, (8, 9), since=3, place=PLACE)
    assert fakes.register.sent == [(CLICKS, CommittedOffset(5, ours), True)], "with its boundaries, in one commit"
    assert manifest()[1].hash in fakes.state_store.revisions, "the snapshot is there before the promise"


def test_another_place_that_does_not_answer_stops_no_other_partition_and_is_asked_again(
    fakes: FakeDependencies,
) -> None:
    fakes.group.tokens = {CLICKS: 1, ORDERS: 2}
    theirs = promised_elsewhere(fakes)
    fakes.state_store.elsewhere[theirs.hash] = StorageError("timeout", "away")
    resolver, states = resolved(fakes)
    assert states.unresolved() == [CLICKS]
    assert states.idle() == {ORDERS: 0}
    fakes.state_store.elsewhere[theirs.hash] = theirs.document
    fakes.time += 5
    resolver.resolve()
    assert [intent.ends for intent in states.pending()] == [(8, 9)]


def test_what_was_begun_in_our_place_and_given_up_elsewhere_is_promised_again_as_it_was(
    fakes: FakeDependencies,
) -> None:
    """A member without access to our place had taken over, and ours is another revision by now."""
    promised_elsewhere(fakes)
    _, before = manifest(startFrom="latest", isolationLevel="read_uncommitted")
    fakes.state_store.stored[CLICKS] = [stored(8, 9, before.hash)]
    _, states = resolved(fakes)
    assert held(states) == {"clicks": HoldReason.REVISION_MISSING}, "nobody knows how it was begun"

    fakes.state_store.revisions[before.hash] = before.document
    _resolver, states = resolved(fakes)
    metadata = OffsetMetadata(TOPIC_ID, 1, before.hash, (8, 9), since=3, place=PLACE)
    assert fakes.register.sent == [(CLICKS, CommittedOffset(5, metadata), True)]
    assert [intent.revision for intent in states.pending()] == [before.hash]


@pytest.mark.parametrize("what", ["kafka", "s3"])
def test_nothing_is_decided_without_kafka_and_the_bucket(fakes: FakeDependencies, what: str) -> None:
    if what == "kafka":
        fakes.offsets.error = ConnectionError("away")
    else:
        fakes.state_store.error = StorageError("unauthorized", "the token has expired")
    resolver, states = resolved(fakes)
    assert states.unresolved() == [CLICKS]
    fakes.offsets.error = fakes.state_store.error = None
    fakes.time += 5
    resolver.resolve()
    assert states.idle() == {CLICKS: 0}


def test_what_cannot_be_read_concerns_its_partition_only(fakes: FakeDependencies) -> None:
    fakes.group.tokens = {CLICKS: 1, ORDERS: 2}
    fakes.register.unknown_metadata = {CLICKS}
    fakes.state_store.stored[ORDERS] = ForeignObjectError("object 'raw/orders/x' is not whole")
    _resolver, states = resolved(fakes)
    assert held(states) == {"clicks": HoldReason.UNKNOWN_METADATA, "orders": HoldReason.FOREIGN_OBJECTS}
    assert fakes.register.sent == []


def test_an_answer_older_than_what_was_acknowledged_is_asked_for_again_and_held_in_the_end(
    fakes: FakeDependencies,
) -> None:
    """A broker that has not heard of its successor; or Kafka has really lost the commit."""
    resolver, states = resolved(fakes)
    states.own({CLICKS: 2})
    fakes.register.kafka[CLICKS] = CommittedOffset(30, OffsetMetadata(TOPIC_ID, 1))
    resolver.resolve()
    states.own({CLICKS: 3})
    fakes.register.stale[CLICKS] = CommittedOffset(10, OffsetMetadata(TOPIC_ID, 1))
    fakes.time += 5
    resolver.resolve()
    assert states.unresolved() == [CLICKS]
    del fakes.register.stale[CLICKS]
    fakes.time += 5
    resolver.resolve()
    assert states.idle() == {CLICKS: 30}
    states.own({CLICKS: 4})
    fakes.register.kafka[CLICKS] = CommittedOffset(10, OffsetMetadata(TOPIC_ID, 1))
    for _ in range(2):
        fakes.time += STALE_SECONDS
        resolver.resolve()
    assert held(states) == {"clicks": HoldReason.OFFSET_WENT_BACK}
    assert "this member's commit of 30" in states.held()[CLICKS].message


def test_what_the_next_owner_has_stored_meanwhile_is_no_cause_to_hold(fakes: FakeDependencies) -> None:
    """This member was expelled while it listed the bucket, and has not heard of it."""
    fakes.register.kafka[CLICKS] = CommittedOffset(5, None)
    fakes.state_store.stored[CLICKS] = [stored(0, 10)]
    resolver, states = resolver_in(fakes)
    register, before = fakes.register, fakes.register.read

    def read(partitions: Any) -> Any:
        found = before(partitions)
        register.error = RuntimeError("the broker does not know this member's generation")
        return found

    register.read = read  # type: ignore[method-assign]
    resolver.resolve()
    assert states.unresolved() == [CLICKS]
    assert states.held() == {}


def test_a_partition_without_a_leader_keeps_no_other_from_beginning(fakes: FakeDependencies) -> None:
    """It begins at its first record since the group began, as soon as it can be asked."""
    away = TopicPartition("clicks", 1)
    fakes.group.tokens = {CLICKS: 1, away: 1}
    fakes.offsets.partitions, fakes.offsets.end, fakes.offsets.leaderless = 2, {CLICKS: 4, away: 9}, {away}
    resolver, states = resolved(fakes, startFrom="latest")
    assert (states.idle(), states.unresolved()) == ({CLICKS: 4}, [away])
    assert resolver.unreadable.keys() == {away}
    note = fakes.state_store.topics["clicks", 1]
    assert isinstance(note, TopicNote)
    assert (note.begins, note.since is not None) == ((4, None), True)
    fakes.offsets.leaderless, fakes.offsets.since[away] = set(), (7, note.since or 0)
    fakes.time += 10
    resolver.resolve()
    assert (states.idle(), resolver.unreadable) == ({CLICKS: 4, away: 7}, {})


@pytest.mark.parametrize(("there", "position"), [(["clicks", "orders"], 99), (["clicks"], 0)])
def test_a_topic_that_is_made_later_begins_at_its_first_record(
    fakes: FakeDependencies, there: list[str], position: int
) -> None:
    fakes.state_store.selection = there
    fakes.group.tokens = {ORDERS: 1}
    fakes.offsets.end[ORDERS] = 99
    _resolver, states = resolved(fakes, startFrom="latest")
    assert states.idle() == {ORDERS: position}


def test_where_a_group_began_with_another_topic_of_the_name_nothing_begins(fakes: FakeDependencies) -> None:
    fakes.state_store.topics["clicks", 1] = TopicNote("B" * 22, 1, (4,))
    _resolver, states = resolved(fakes, startFrom="latest")
    assert held(states) == {"clicks": HoldReason.TOPIC_RECREATED}
