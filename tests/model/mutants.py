"""Protocols that are broken on purpose. A model that does not catch each of them proves nothing.

The assertions of production (`protocol._check_write`) are off in all of them: the ledger has to see what they break.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any
from unittest.mock import patch

from logpersister.group.answers import CommitOutcome
from logpersister.group.ownership import Ownership
from logpersister.manifest.revisions.revision import OutputSchema, Revision
from logpersister.member import end_offsets, output_revisions, resolver, state_store
from logpersister.member.commits import Committer
from logpersister.member.cycle import Cycle
from logpersister.member.execution import Execution
from logpersister.member.losses import Losses
from logpersister.member.output_revisions import OutputRevisions
from logpersister.member.resolver import Resolver
from logpersister.member.revision_snapshots import RecoveryAction, RevisionSnapshots
from logpersister.member.start_offsets import StartOffsets
from logpersister.member.state_store import BucketStateStore
from logpersister.member.topic_bindings import TopicBindings
from logpersister.pipeline.work import RangeWork
from logpersister.plan import events, protocol, recovery
from logpersister.plan.holds import Hold
from logpersister.plan.intents import CommittedOffset, Intent, OffsetMetadata, stored
from logpersister.plan.packing import Work
from logpersister.plan.partitions import Commit, PartitionStates
from logpersister.plan.protocol import Protocol
from logpersister.plan.states import Idle, Pending, State, Unresolved, Write
from logpersister.ranges import NewestEvent, Offset, Range, TopicPartition
from tests.model.rules import Rules

Patches = Callable[[], list[Any]]


@dataclass(frozen=True)
class Mutant:
    """One broken protocol."""

    name: str
    rules: Rules = field(default_factory=Rules)
    patches: Patches = list
    """Makes what replaces parts of the production code."""
    mood: str | None = None
    """Of the histories in which it is found soonest; all by default."""
    scene: str = "crashes"
    """The small world that has what it takes to find it."""
    first_seed: int = 0
    """Of the histories that are tried; for what takes hundreds of them, shortly before the first that finds it."""

    is_rare: bool = False
    """Whether chance takes too long to find it: the small world alone does."""

    @contextmanager
    def at_large(self) -> Iterator[None]:
        with ExitStack() as stack:
            for name in ("_check_write", "_check_state"):
                stack.enter_context(patch.object(protocol, name, lambda *_: None))
            for patched in self.patches():
                stack.enter_context(patched)
            yield


MUTANTS = [
    Mutant("commit before upload", Rules(upload_before_outcome=False)),
    Mutant("names that depend on the clock", Rules(names_without_clock=False)),
    Mutant(
        "a part of a lost range replaces the whole",
        Rules(puts_if_absent=False),
        mood="losing",
        scene="records get lost",
        first_seed=520,
    ),
    Mutant("losses that nobody is told of", Rules(losses_are_recorded=False), scene="records get lost"),
    Mutant(
        "claims of what was assigned last (kafka-python's assignor)",
        Rules(true_claims=False),
        mood="handing over",
        scene="a member comes",
    ),
    Mutant(
        "an expulsion while joining goes unnoticed (kafka-python's coordinator)",
        Rules(losses_are_told=False),
        mood="expelling",
        scene="a member comes",
    ),
    Mutant(
        "a revocation does not wait for commits in flight",
        Rules(revocation_waits_for_commits=False),
        mood="handing over",
        scene="from hand to hand",
        first_seed=340,
    ),
    Mutant(
        "reads without a fence",
        Rules(reads_are_fenced=False),
        mood="failing over",
        scene="a former coordinator answers",
    ),
    Mutant(
        "nothing is looked for behind the offset",
        Rules(looks_ahead=False),
        mood="meddling",
        scene="Kafka shows older commits",
    ),
    Mutant(
        "only the leader watches for new partitions, and does not know that it leads",
        Rules(every_member_watches=False),
        mood="growing",
        scene="a partition is added",
    ),
    Mutant(
        "forgotten offsets: an object proves its range, though others of it may be in quarantine",
        Rules(quarantine_is_allowed_for=False),
        mood="parsing",
        scene="Kafka forgets, and a parser refuses records",
    ),
    Mutant(
        "forgotten offsets: what was replayed says nothing of its range",
        Rules(replays_tell_of_ranges=False),
        mood="parsing",
        scene="Kafka forgets what was replayed",
    ),
]
"""Of the laws of the world; each function that `_mutant` decorates adds one of the product."""


def _mutant(name: str, rules: Rules | None = None, **more: Any) -> Callable[[Patches], Patches]:
    """Note what a function patches as a mutant."""

    def note(patches: Patches) -> Patches:
        MUTANTS.append(Mutant(name, rules or Rules(), patches, **more))
        return patches

    return note


def _without_promise(value: CommittedOffset) -> CommittedOffset:
    assert value.metadata is not None
    return CommittedOffset(value.offset, replace(value.metadata, ends=(), unstored=None, place=None))


# reads


@_mutant("pending intents are ignored")
def _ignore_pending_intents() -> list[Any]:
    original = Protocol._adopt

    def adopt(self: Protocol, value: CommittedOffset, before: State) -> State:
        return original(self, _without_promise(value) if isinstance(before, Unresolved) else value, before)

    return [patch.object(Protocol, "_adopt", adopt)]


@_mutant(
    "answers that are older than what was seen", mood="growing", scene="a former coordinator answers", first_seed=5720
)
def _take_every_answer() -> list[Any]:
    return [patch.object(protocol, "is_stale", lambda *_: False)]


@_mutant("metadata of another offset is believed", mood="meddling", scene="a user resets offsets")
def _believe_metadata_of_another_offset() -> list[Any]:
    original = OffsetMetadata.text

    def text(self: OffsetMetadata, offset: Offset) -> str:
        return original(self, offset).replace(f"o={offset};", "")

    return [patch.object(OffsetMetadata, "text", text)]


@_mutant("no look at topic ids", Rules(jobs_check_the_topic=False), scene="the topic is made again")
def _never_look_at_topic_ids() -> list[Any]:
    modules = (protocol, recovery, end_offsets, resolver)
    return [patch.object(module, "same_topic", lambda _one, _other: True) for module in modules]


# promises


@_mutant("pending intents under the member's own revision", scene="two revisions")
def _execute_under_own_revision() -> list[Any]:
    original = Resolver._as_it_can_be_done

    def as_it_can_be_done(self: Resolver, targets: Mapping[TopicPartition, CommittedOffset | Hold]) -> Any:
        def mine(partition: TopicPartition, target: CommittedOffset | Hold) -> CommittedOffset | Hold:
            if isinstance(target, Hold) or target.metadata is None or not target.metadata.ends:
                return target
            own = self.output_revisions.without_schema(partition.topic)
            return CommittedOffset(target.offset, replace(target.metadata, revision=own))

        return original(self, {partition: mine(partition, target) for partition, target in targets.items()})

    return [patch.object(Resolver, "_as_it_can_be_done", as_it_can_be_done)]


@_mutant(
    "promises for another place are kept in the own one, though that one lets us in", mood="moving", scene="two places"
)
def _keep_all_promises_in_own_place() -> list[Any]:
    def recovery_action(self: RevisionSnapshots, intent: Intent) -> RecoveryAction:
        return RecoveryAction.IN_OUR_PLACE if self.stores_elsewhere(intent) else original(self, intent)

    original = RevisionSnapshots.recovery_action
    return [patch.object(RevisionSnapshots, "recovery_action", recovery_action)]


@_mutant(
    "promises for a place that refuses are cut anew for the own one",
    mood="moving",
    scene="two places, each with its own keys",
    first_seed=415,
)
def _cut_anew_in_own_place() -> list[Any]:
    def from_another_place(*arguments: Any) -> CommittedOffset | Hold:
        target = recovery.from_another_place(*arguments)
        return target if isinstance(target, Hold) else _without_promise(target)

    return [patch.object(resolver, "from_another_place", from_another_place)]


@_mutant("execution without a promise in Kafka")
def _execute_without_promise() -> list[Any]:
    def send(self: Committer, commits: Mapping[TopicPartition, Commit], step: Any) -> set[TopicPartition]:
        bare = {p: Commit(it.token, _without_promise(it.committed)) for p, it in commits.items()}
        sent = self._register.commit(bare, promise=step == "promise")
        for partition in sent.committed:
            self._states.acknowledged(partition, commits[partition])
        for partition in sent.failed:
            self._states.step(partition, events.Unanswered(bare[partition].committed))
        return sent.committed

    return [patch.object(Committer, "_send", send)]


@_mutant("execution of promises whose outcome is unknown", scene="two revisions")
def _execute_promises_of_unknown_outcome() -> list[Any]:
    return [patch.object(Protocol, "_in_doubt", Protocol._acknowledged)]


@_mutant(
    "a generation may be about two topics of a name", mood="remaking", scene="the topic is made again", first_seed=460
)
def _promise_of_any_topic() -> list[Any]:
    def judge(_topic_bindings: TopicBindings, topic_ids: Any) -> Any:
        return set(topic_ids), {}

    return [patch.object(TopicBindings, "judge", judge)]


@_mutant("intents that fail are planned anew", scene="two revisions")
def _forget_intents_that_fail() -> list[Any]:
    original = PartitionStates.failed

    def failed(self: PartitionStates, range_: Range, token: int, retry_at: Any) -> None:
        original(self, range_, token, retry_at)
        found = self._partitions.get(range_.partition)
        if found is None or found.token != token or found.attempts.running:
            return
        if isinstance(found.state, Pending):
            found.state = Idle(_without_promise(found.state.value), looked_ahead=True)

    return [patch.object(PartitionStates, "failed", failed)]


@_mutant("the latest schema is asked for before the end offsets", mood="evolving", scene="a schema evolves")
def _ask_for_schemas_before_the_end_offsets() -> list[Any]:
    original = Cycle._refresh_end_offsets

    def refresh(self: Cycle) -> None:
        for topic in sorted({partition.topic for partition in self.states.owned()}):
            schemas = self.resolver.output_revisions._schemas_of(topic)
            assert schemas is not None
            self.resolver.output_revisions._ask(schemas, topic, {})
        original(self)

    return [
        patch.object(Cycle, "_refresh_end_offsets", refresh),
        patch.object(output_revisions._Answer, "covers", lambda *_: True),
    ]


@_mutant(
    "a schema that was asked for in an earlier turn is that of what came since",
    mood="evolving",
    scene="a schema evolves",
    first_seed=100,
)
def _take_late_answers_for_new_ones() -> list[Any]:
    original = OutputRevisions._told

    def told(self: OutputRevisions, registry: Any, key: Any, ends: Any, question: Any) -> Any:
        return original(self, registry, key, ends, question)[0], ends

    return [patch.object(OutputRevisions, "_told", told)]


@_mutant(
    "a version of the schema is used that can read none before it",
    mood="evolving",
    scene="a version can read none before it",
)
def _use_versions_that_read_nothing_before() -> list[Any]:
    return [patch.object(OutputRevisions, "_judge", lambda *_: None)]


@_mutant(
    "the version before is remembered, and not read from the register",
    mood="evolving",
    scene="a version can read none before it",
)
def _remember_the_version_before() -> list[Any]:
    """In memory, where a process that begins has none, in place of what the committed offset names."""
    original = OutputRevisions._judge

    def judge(self: OutputRevisions, partition: TopicPartition, now: OutputSchema, _: CommittedOffset | None) -> Any:
        used = self.__dict__.setdefault("documents_used", {})
        before = used.setdefault(partition, now)
        with patch.object(OutputRevisions, "_used_before", lambda *_: before):
            hold = original(self, partition, now, None)
        if hold is None:
            used[partition] = now
        return hold

    return [patch.object(OutputRevisions, "_judge", judge)]


@_mutant(
    "forgotten offsets: the version before is forgotten, too",
    mood="evolving",
    scene="a version can read none before it",
    first_seed=1500,
)
def _forget_the_version_before_with_the_offsets() -> list[Any]:
    def settled(*arguments: Any, **more: Any) -> CommittedOffset:
        return stored(*arguments, **more | {"revision": None})

    return [patch.object(recovery, "stored", settled)]


@_mutant("the schema is not in the intent", mood="evolving", scene="a schema evolves")
def _leave_schemas_out_of_intents() -> list[Any]:
    def of_schema(self: OutputRevisions, _topic: str, _schema: OutputSchema) -> Revision:
        return self._own

    return [patch.object(OutputRevisions, "_of_schema", of_schema)]


@_mutant("snapshots of revisions are stored after the promise")
def _store_snapshots_after_promises() -> list[Any]:
    original = Committer.promise

    def promise(self: Committer, values: Mapping[TopicPartition, CommittedOffset]) -> set[TopicPartition]:
        intents = [intent for partition, value in values.items() if (intent := value.intent(partition)) is not None]
        missing = ({intent.revision for intent in intents} & self._documents.keys()) - self._snapshots_stored
        self._snapshots_stored |= missing
        promised = original(self, values)
        for revision in sorted(missing):
            self._state_store.put_revision(revision, self._documents[revision])
        return promised

    return [patch.object(Committer, "promise", promise)]


# effects and commits


@_mutant("commits after a revocation", mood="handing over", scene="from hand to hand")
def _commit_after_revocation() -> list[Any]:
    @contextmanager
    def committing(
        self: Ownership, commits: Mapping[TopicPartition, Commit], outcome: CommitOutcome, *, promise: bool
    ) -> Iterator[dict[TopicPartition, Commit]]:
        yield dict(commits)

    return [patch.object(Ownership, "committing", committing)]


@_mutant("commits past ranges that are not stored")
def _commit_past_holes() -> list[Any]:
    def settled(self: Pending) -> Offset:
        return max([self.intent.start, *(range_.end for range_ in self.done)])

    return [patch.object(Pending, "settled", settled)]


@_mutant(
    "losses are recorded before they are promised",
    mood="losing",
    scene="records get lost beside a zombie",
    first_seed=710,
)
def _record_losses_before_they_are_promised() -> list[Any]:
    original = Cycle._promise

    def promise(self: Cycle, intents: list[Intent]) -> None:
        for intent in intents:
            if intent.unstored is not None:
                lost = Range(intent.partition, intent.start, intent.unstored.end)
                self._dependencies.state_store.record_loss(lost, intent.topic_id, intent.unstored.cause)
        original(self, intents)

    return [patch.object(Cycle, "_promise", promise)]


@_mutant("the offset moves over losses that are not recorded", mood="losing", scene="records get lost")
def _move_over_losses_that_are_not_recorded() -> list[Any]:
    original = Pending.settled

    def settled(self: Pending) -> Offset:
        return original(replace(self, recorded=True))

    return [
        patch.object(Pending, "settled", settled),
        patch.object(Losses, "record", lambda _self: False),
        patch.object(Protocol, "owed", _owed_without_records),
    ]


def _owed_without_records(self: Protocol, state: State) -> Any:
    if not isinstance(state, Pending) or state.settled() <= state.intent.start:
        return ()
    return (Write(protocol._progress(state, state.settled())),)


@_mutant("what is stored is recorded as lost", mood="losing", scene="records get lost beside a zombie")
def _record_as_lost_what_is_stored() -> list[Any]:
    return [patch.object(Losses, "_find_stored", lambda _self, _intent: None)]


@_mutant("events of ranges that are not committed are told", scene="two revisions")
def _tell_events_that_are_not_committed() -> list[Any]:
    original = Pending.seen

    def seen(self: Pending, _offset: Offset) -> NewestEvent | None:
        return original(self, self.intent.end)

    return [patch.object(Pending, "seen", seen)]


# late records


@_mutant("horizons are not in intents", mood="finishing", scene="folders are finished")
def _leave_horizons_out_of_intents() -> list[Any]:
    original = OffsetMetadata.text

    def text(self: OffsetMetadata, offset: Offset) -> str:
        return original(replace(self, horizon=None), offset)

    return [patch.object(OffsetMetadata, "text", text)]


@_mutant("horizons are read when a range is executed", mood="finishing", scene="folders are finished")
def _read_horizons_at_execution() -> list[Any]:
    original = Execution._work

    def work(self: Execution, item: Work) -> tuple[str, RangeWork]:
        revision, found = original(self, item)
        noted = self._jobs._around.finished.noted  # type: ignore[attr-defined]
        topic = item.range.partition.topic
        return revision, replace(found, horizon=noted[topic][-1] if topic in noted else None)

    return [patch.object(Execution, "_work", work)]


@_mutant("horizons above what is finished", mood="finishing", scene="folders are finished")
def _promise_by_higher_horizons() -> list[Any]:
    original = Cycle._with_first_record

    def with_first_record(self: Cycle, planned: Any) -> list[Intent]:
        return [replace(one, horizon=(one.horizon or 0) + 1) for one in original(self, planned)]

    return [patch.object(Cycle, "_with_first_record", with_first_record)]


@_mutant(
    "forgotten offsets: ranges in doubt are executed without their horizon",
    mood="finishing",
    scene="Kafka forgets while folders are finished",
)
def _repair_without_horizons() -> list[Any]:
    original = recovery._repair

    def repair(*arguments: Any) -> CommittedOffset:
        value = original(*arguments)
        assert value.metadata is not None
        return replace(value, metadata=replace(value.metadata, horizon=None))

    return [patch.object(recovery, "_repair", repair)]


@_mutant(
    "forgotten offsets: ranges of another horizon are in doubt, too",
    mood="finishing",
    scene="Kafka forgets while folders are finished",
)
def _repair_by_the_last_horizon() -> list[Any]:
    return [patch.object(recovery, "_begun_alike", lambda one, other: one.revision == other.revision)]


# positions that we did not leave


@_mutant("every reset is obeyed", mood="meddling", scene="a user resets offsets")
def _obey_every_reset() -> list[Any]:
    def from_bucket(
        context: recovery.PartitionContext, committed: CommittedOffset | None, *rest: Any
    ) -> CommittedOffset | Hold:
        if committed is not None and committed.metadata is None:
            return context.at(committed.offset)
        return recovery.from_bucket(context, committed, *rest)

    return [patch.object(resolver, "from_bucket", from_bucket)]


@_mutant("forgotten offsets: the last object proves all before it", mood="losing", scene="Kafka forgets")
def _trust_the_last_object() -> list[Any]:
    def repair(context: recovery.PartitionContext, tail: recovery.StoredTail, *_: Any) -> CommittedOffset:
        return stored(tail.end, context.topic_id, tail.generation)

    return [patch.object(recovery, "_repair", repair)]


@_mutant("forgotten offsets: begin at startFrom again", scene="Kafka forgets")
def _start_anew_when_forgotten() -> list[Any]:
    def from_bucket(
        context: recovery.PartitionContext, committed: CommittedOffset | None, _tail: Any, begin: Offset, *_: Any
    ) -> Any:
        return context.at(begin if committed is None else committed.offset)

    return [patch.object(resolver, "from_bucket", from_bucket)]


@_mutant(
    "forgotten offsets: a new generation knows nothing of the one before",
    mood="losing",
    scene="Kafka forgets a group that raises its generation",
)
def _start_anew_with_each_generation() -> list[Any]:
    def is_ours(context: recovery.PartitionContext, tail: recovery.StoredTail) -> bool:
        return bool(tail.ranges) and tail.generation == context.generation

    return [patch.object(recovery, "_is_ours", is_ours)]


def _take_replays_for_members() -> list[Any]:
    return [patch.object(BucketStateStore, "_belongs", lambda *_: True)]


@_mutant(
    "forgotten offsets: what was deleted behind a switch is stored anew",
    is_rare=True,
    mood="replaying",
    scene="Kafka forgets a group whose history was stored again",
)
def _show_no_end_of_replays() -> list[Any]:
    return [patch.object(state_store, "_end", lambda *_: ())]


@_mutant(
    "forgotten offsets: a replay of history tells how far the group is",
    mood="replaying",
    scene="Kafka forgets a group whose history was stored again",
)
def _take_replays_for_members_to_their_ends() -> list[Any]:
    return [*_take_replays_for_members(), *_show_no_end_of_replays()]


@_mutant("new partitions begin where the group would begin now", mood="growing", scene="a partition is added")
def _begin_new_partitions_like_old_ones() -> list[Any]:
    def of_topic(self: StartOffsets, topic: str, described: Any, log_starts: Mapping[TopicPartition, Offset]) -> Any:
        decided = self._start_from(topic, described)
        return {p: begin for p in log_starts if (begin := decided.get(p.partition)) is not None}

    return [patch.object(StartOffsets, "_of_topic", of_topic)]
