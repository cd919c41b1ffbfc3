"""Protocols that are broken on purpose. A model that does not catch each of them proves nothing."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any
from unittest.mock import patch

from logpersister.group.answers import CommitOutcome
from logpersister.group.ownership import Ownership
from logpersister.member import arrivals, cycle, look
from logpersister.member.arrivals import Arrivals
from logpersister.member.claims import TopicClaims
from logpersister.member.revisions import Revisions, Way
from logpersister.plan import recovery
from logpersister.plan.book import Book, Commit
from logpersister.plan.intents import Committed, Intent, stored
from logpersister.plan.recovery import Decision, Execute, Resume
from logpersister.ranges import Offset, TopicPartition
from tests.model.rules import Rules


@dataclass(frozen=True)
class Mutant:
    """One broken protocol."""

    name: str
    rules: Rules = field(default_factory=Rules)
    patches: Callable[[], list[Any]] = list
    """Makes what replaces parts of the production code."""
    mood: str | None = None
    """Of the histories in which it is found soonest; all by default."""
    scene: str = "crashes"
    """The small world that has what it takes to find it."""

    @contextmanager
    def at_large(self) -> Iterator[None]:
        patches = self.patches()
        for patched in patches:
            patched.start()
        try:
            yield
        finally:
            for patched in patches:
                patched.stop()


def _execute_under_own_revision() -> list[Any]:
    original = Arrivals._with_ways

    def with_ways(self: Arrivals, decisions: Mapping[TopicPartition, Decision], ids: Any) -> Any:
        mine = {
            partition: Execute(replace(decision.intent, revision=self._revision.hash), decision.must_commit)
            if isinstance(decision, Execute)
            else decision
            for partition, decision in decisions.items()
        }
        return original(self, mine, ids)

    return [patch.object(Arrivals, "_with_ways", with_ways)]


def _keep_all_promises_in_own_place() -> list[Any]:
    def way_of(self: Revisions, intent: Intent) -> Way:
        return Way.IN_OUR_PLACE if self.stores_elsewhere(intent) else original(self, intent)

    original = Revisions.way_of
    return [patch.object(Revisions, "way_of", way_of)]


def _cut_anew_in_own_place() -> list[Any]:
    def from_another_place(*arguments: Any) -> Decision:
        decision = recovery.from_another_place(*arguments)
        return replace(decision, ends=()) if isinstance(decision, Resume) else decision

    return [patch.object(arrivals, "from_another_place", from_another_place)]


def _ignore_pending_intents() -> list[Any]:
    def from_commit(_partition: TopicPartition, committed: Committed, _generation: int) -> Decision:
        return Resume(committed.offset)

    return [patch.object(arrivals, "from_commit", from_commit)]


def _execute_without_promise() -> list[Any]:
    def promise(self: Book, intent: Intent) -> Commit:
        return Commit(self._entries[intent.partition].token, stored(intent.start, intent.topic_id, intent.generation))

    return [patch.object(Book, "promise", promise)]


def _execute_promises_of_unknown_outcome() -> list[Any]:
    original = cycle.Cycle._promise

    def promise(self: cycle.Cycle, intents: list[Intent]) -> None:
        with patch.object(Book, "doubt", lambda _book, _partition: None):
            original(self, intents)
        idle = self.book.idle()
        for intent in intents:
            if idle.get(intent.partition) == intent.start:
                self.book.promised(intent)

    return [patch.object(cycle.Cycle, "_promise", promise)]


def _commit_after_revocation() -> list[Any]:
    @contextmanager
    def committing(
        self: Ownership, commits: Mapping[TopicPartition, Commit], outcome: CommitOutcome, *, promise: bool
    ) -> Iterator[dict[TopicPartition, Commit]]:
        yield dict(commits)

    return [patch.object(Ownership, "committing", committing)]


def _commit_past_holes() -> list[Any]:
    def unbroken(entry: Any) -> Offset:
        done: list[Offset] = [range_.end for range_ in entry.done]
        start: Offset = entry.intent.start if entry.intent else entry.position or 0
        return max(start, *done) if done else start

    return [patch("logpersister.plan.book._unbroken", unbroken)]


def _never_look_at_topic_ids() -> list[Any]:
    def same(_one: str | None, _other: str | None) -> bool:
        return True

    return [patch.object(recovery, "same_topic", same), patch.object(look, "same_topic", same)]


def _promise_of_any_topic() -> list[Any]:
    return [patch.object(TopicClaims, "foreign", lambda _claims, _intents: {})]


def _obey_every_reset() -> list[Any]:
    original = recovery.from_bucket

    def from_bucket(subject: Any, committed: Committed | None, *rest: Any) -> Decision:
        if committed is not None and committed.mark is None:
            return Resume(committed.offset, must_commit=True)
        return original(subject, committed, *rest)

    return [patch.object(arrivals, "from_bucket", from_bucket)]


def _trust_the_last_object() -> list[Any]:
    def repair(_subject: Any, tail: Any, _beginning: Offset, _log_start: Offset) -> Decision:
        return Resume(max(it.end for it in tail), must_commit=True)

    return [patch.object(recovery, "_repair", repair)]


def _start_anew_when_forgotten() -> list[Any]:
    def from_bucket(_subject: Any, committed: Committed | None, _tail: Any, start: Offset, _log_start: Offset) -> Any:
        return Resume(start if committed is None else committed.offset, must_commit=True)

    return [patch.object(arrivals, "from_bucket", from_bucket)]


def _forget_intents_that_fail() -> list[Any]:
    original = Book.ended

    def ended(self: Book, range_: Any, token: int, *, stored: bool, retry_at: Any = None) -> None:
        original(self, range_, token, stored=stored, retry_at=retry_at)
        entry = self._entries.get(range_.partition)
        if entry is not None and entry.token == token and not stored and not entry.running:
            entry.intent = None

    return [patch.object(Book, "ended", ended)]


MUTANTS = [
    Mutant("commit before upload", Rules(upload_before_outcome=False)),
    Mutant("names that depend on the clock", Rules(names_without_clock=False)),
    Mutant(
        "a part of a lost range replaces the whole",
        Rules(puts_if_absent=False),
        mood="losing",
        scene="records get lost",
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
    ),
    Mutant(
        "commits after a revocation", patches=_commit_after_revocation, mood="handing over", scene="from hand to hand"
    ),
    Mutant(
        "pending intents under the member's own revision", patches=_execute_under_own_revision, scene="two revisions"
    ),
    Mutant(
        "promises for another place are kept in the own one, though that one lets us in",
        patches=_keep_all_promises_in_own_place,
        mood="moving",
        scene="two places",
    ),
    Mutant(
        "promises for a place that refuses are cut anew for the own one",
        patches=_cut_anew_in_own_place,
        mood="moving",
        scene="two places, each with its own keys",
    ),
    Mutant("pending intents are ignored", patches=_ignore_pending_intents),
    Mutant("execution without a promise in Kafka", patches=_execute_without_promise),
    Mutant(
        "execution of promises whose outcome is unknown",
        patches=_execute_promises_of_unknown_outcome,
        scene="two revisions",
    ),
    Mutant("commits past ranges that are not stored", patches=_commit_past_holes),
    Mutant("intents that fail are planned anew", patches=_forget_intents_that_fail, scene="two revisions"),
    Mutant(
        "no look at topic ids",
        Rules(jobs_check_the_topic=False),
        _never_look_at_topic_ids,
        scene="the topic is made again",
    ),
    Mutant(
        "a generation may be about two topics of a name",
        patches=_promise_of_any_topic,
        mood="remaking",
        scene="the topic is made again",
    ),
    Mutant("every reset is obeyed", patches=_obey_every_reset, mood="meddling", scene="a user resets offsets"),
    Mutant(
        "forgotten offsets: the last object proves all before it",
        patches=_trust_the_last_object,
        mood="losing",
        scene="Kafka forgets",
    ),
    Mutant("forgotten offsets: begin at startFrom again", patches=_start_anew_when_forgotten, scene="Kafka forgets"),
]
