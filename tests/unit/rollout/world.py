"""A small cluster with an operator that may be killed between any two writes and may see old news; a user, and time.

Minutes are the only times: a canary is watched for one, and without progress for three a rollout has failed.
"""

import copy
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Literal

from logpersister.manifest.blocks.rollout import AnalysisSpec, CanarySpec, RolloutSpec
from logpersister_operator.rollout.evidence import Evidence, GroupLag, ReportedCounters, Tally
from logpersister_operator.rollout.fleet import Fleet
from logpersister_operator.rollout.inputs import RolloutInputs
from logpersister_operator.rollout.record import RolloutRecord, Trial
from logpersister_operator.rollout.shadow_evidence import UNSEEN, Comparison, Shadow
from logpersister_operator.rollout.step import RolloutStep, next_step
from logpersister_operator.rollout.transitions import Phase

EPOCH = datetime(2026, 11, 22, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
OLDEST = 5
"""Minutes after which nothing changes any more."""
POLICY = RolloutSpec(
    canary=CanarySpec(analysis=AnalysisSpec(duration=MINUTE, min_ranges=1)), progress_deadline=3 * MINUTE
)

Kind = Literal["good", "crashing", "failing", "hanging", "differing", "tolerable", "refusing"]
"""What a revision is like: its members work, never get ready, fail to upload, only look as if they did something, or
store something else than the old ones, which nobody but a shadow notices; or they put as many records into quarantine
as they may, or all."""
RECORDS = 100
"""That a member stores in a minute."""
HISTORY = 1_000_000
"""Records that each member of the first revision had stored before, all of them good."""
Pods = dict[tuple[str, int], str]
"""``starting``, ``ready`` or ``leaving`` by owner and ordinal; owners are revisions, and their shadows."""
SHADOW = "'"
"""Behind the name of a revision: its shadow."""


class BrokenError(AssertionError):
    """A promise was not kept."""


@dataclass
class World:
    """One resource."""

    members: int = 2
    policy: RolloutSpec = POLICY
    kinds: dict[str, Kind] = field(default_factory=dict)
    revision: str = "A"
    paused: bool = False
    blocked: bool = False
    promote: str = ""
    abort: str = ""
    retry: str = ""
    now: datetime = EPOCH
    record: RolloutRecord | None = None
    sets: dict[str, int] = field(default_factory=dict)
    pods: Pods = field(default_factory=dict)
    seen: Pods | None = None
    """What the operator knows of pods, when that is old."""
    outage: bool = False
    """Nobody can upload."""
    late: bool = False
    """Whether so much time may pass that even a good revision misses its deadline."""
    budget: dict[str, int] = field(default_factory=dict)
    """How often adversity may still strike, by kind of event."""

    def clone(self) -> "World":
        other = copy.copy(self)
        other.sets, other.pods, other.budget = dict(self.sets), dict(self.pods), dict(self.budget)
        return other

    def key(self) -> object:
        """What tells worlds apart: times count as ages."""
        record = self.record
        ages = record and replace(
            record,
            since=self._aged(record.since),
            began=None,
            waiting=record.waiting and self._aged(record.waiting),
            rested=record.rested and self._aged(record.rested),
            trial=record.trial and self._aged_trial(record.trial),
            candidate_stored=self._aged_tally(record.candidate_stored),
            stable_stored=self._aged_tally(record.stable_stored),
            suspicion=record.suspicion and replace(record.suspicion, since=self._aged(record.suspicion.since)),
            failures=tuple(replace(one, time=EPOCH) for one in record.failures),
        )
        return (
            ages, self.revision, self.paused, self.blocked, self.promote, self.policy, self.members, self.outage,
            (self.abort, self.retry) if {self.abort, self.retry} & set(self.marks()) else None,
            tuple(sorted(self.sets.items())), tuple(sorted(self.pods.items())),
            None if self.seen is None else tuple(sorted(self.seen.items())), tuple(sorted(self.budget.items())),
        )  # fmt: skip

    def marks(self) -> list[str]:
        """Return how annotations name what may be aborted or tried again now."""
        if self.record is None:
            return []
        began = [(self.record.candidate, self.record.began)] if self.record.began else []
        failed = [(failure.revision, failure.time) for failure in self.record.failures]
        return [f"{revision}.{time.isoformat()}" for revision, time in (*began, *failed)]

    def _aged(self, time: datetime) -> datetime:
        return EPOCH + min(self.now - time, OLDEST * MINUTE)

    def _aged_trial(self, trial: Trial) -> Trial:
        minutes = self._minutes()
        return Trial(
            self._aged(trial.since), min(OLDEST, minutes - trial.ranges), min(OLDEST, minutes - trial.upload_failures)
        )

    def _aged_tally(self, tally: Tally) -> Tally:
        """What was told counts as an age, too, and of much that was stored only the share matters."""
        most = OLDEST * RECORDS
        quarantined = tally.quarantined * most // tally.records if tally.records > most else tally.quarantined
        return Tally(min(most, tally.records), quarantined, tuple(self._aged_told(one) for one in tally.told))

    def _aged_told(self, told: ReportedCounters) -> ReportedCounters:
        age = min(OLDEST, self._minutes() - told.records % HISTORY // RECORDS)
        return replace(told, records=age, quarantined=min(1, told.quarantined))

    def _minutes(self) -> int:
        return int((self.now - EPOCH) / MINUTE)

    # what the operator does

    def inputs(self) -> RolloutInputs:
        pods = self.pods if self.seen is None else self.seen
        revisions = {one for one in {*self.sets, *(owner for owner, _ in pods)} if not is_shadow(one)}
        return RolloutInputs(
            now=self.now,
            revision=self.revision,
            members=self.members,
            policy=self.policy,
            fleets={revision: self._fleet(revision, pods) for revision in sorted(revisions)},
            evidence={revision: self._evidence(revision, pods) for revision in sorted(revisions)},
            shadow=self._shadow(pods),
            lag=GroupLag(0),
            promote=self.promote,
            abort=self.abort,
            retry=self.retry,
            paused=self.paused,
            blocked="Secret" if self.blocked else "",
        )

    def _shadow(self, pods: Pods) -> Shadow:
        """Return what is seen of the shadow of the record's candidate."""
        if self.record is None or self.record.phase is not Phase.SHADOWING or self.record.candidate is None:
            return UNSEEN
        owner, kind = self.record.candidate + SHADOW, self.kind(self.record.candidate)
        evidence = self._evidence(owner, pods)
        ours = {"failing", "hanging"}.isdisjoint({kind}) and not self.outage
        found = Comparison(evidence.answers, ranges=evidence.ranges, differences=int(ours and kind == "differing"))
        return Shadow(self._fleet(owner, pods), evidence, found if evidence.answers else Comparison())

    def _fleet(self, revision: str, pods: Pods) -> Fleet:
        mine = {number: state for (owner, number), state in pods.items() if owner == revision}
        wanted = self.sets.get(revision, 0)
        ready = sum(state == "ready" and number < wanted for number, state in mine.items())
        sick = (
            "it crashes"
            if self.kind(revision) == "crashing" and any(state == "starting" for state in mine.values())
            else ""
        )
        return Fleet(wanted, frozenset(mine), ready, sick)

    def _evidence(self, revision: str, pods: Pods) -> Evidence:
        members = [number for (owner, number), state in sorted(pods.items()) if (owner, state) == (revision, "ready")]
        if not members:
            return Evidence()
        ready = len(members)
        kind = self.kind(revision)
        fails = kind == "failing" or self.outage
        works = kind not in ("crashing", "failing", "hanging") and not self.outage
        refused = {
            "tolerable": RECORDS * self.policy.canary.analysis.max_quarantine_ratio // 100,
            "refusing": RECORDS,
        }.get(kind, 0)
        history = HISTORY if revision == "A" else 0
        minutes = self._minutes()  # something happens each minute
        return Evidence(
            answers=ready,
            partitions=ready,
            ranges=minutes if works else 0,
            stored=tuple(
                ReportedCounters(
                    str(number), EPOCH - MINUTE, RECORDS * minutes * works + history, refused * minutes * works
                )
                for number in members
            ),
            upload_failures=minutes if fails else 0,
            last_upload_failure=self.now if fails else None,
            behind=0 if works else 9,
            overdue=not works,
        )

    def kind(self, revision: str) -> Kind:
        """Return what a revision, or its shadow, is like."""
        return self.kinds.get(revision.removesuffix(SHADOW), "good")

    def is_good(self, revision: str) -> bool:
        """Whether a revision has to be let in: it may refuse what the first one does, or anything if that crashes."""
        kind, first = self.kind(revision), self.kind("A")
        return kind in ("good", "tolerable") or (kind == "refusing" and first in ("refusing", "crashing"))

    def decide(self) -> RolloutStep:
        return next_step(self.record, self.inputs())

    def act(self, writes: int, decided: RolloutStep | None = None) -> None:
        """Reconcile once, by an operator that is killed after so many writes."""
        step = decided or self.decide()
        if step.record != self.record:
            if writes == 0:
                return
            writes -= 1
            self.record = step.record
        members = dict(step.members)
        if self._may_touch():
            wanted = {f"{step.record.candidate}{SHADOW}": step.shadow} if step.shadow else {}
            members |= dict.fromkeys(filter(is_shadow, self.sets), 0) | wanted
        for revision, number in sorted(members.items()):
            gone = number == 0 and revision in self.sets and (is_shadow(revision) or self._is_gone(revision))
            if self.sets.get(revision, -1) == number and not gone:
                continue
            if number == 0 and revision not in self.sets:
                continue
            if writes == 0:
                return
            writes -= 1
            if gone:
                self._delete(revision)
            else:
                self._scale(revision, number)

    def _may_touch(self) -> bool:
        return not self.blocked or self.paused

    def _delete(self, owner: str) -> None:
        del self.sets[owner]
        for pod in [pod for pod in self.pods if pod[0] == owner]:
            self.pods[pod] = "leaving"

    def _is_gone(self, revision: str) -> bool:
        pods = self.pods if self.seen is None else self.seen
        return self.sets[revision] == 0 and all(owner != revision for owner, _ in pods)

    def _scale(self, revision: str, number: int) -> None:
        before = self._serving()
        old = self.sets.get(revision, 0)
        failed = self.record and self.record.failure_of(revision, self.policy.attempt)
        if number > old and failed and self.record and revision != self.record.stable:
            raise BrokenError(f"{revision} has failed and gets members")
        if number > old and not self.is_good(revision) and self.is_shadowed and not is_shadow(revision):
            raise BrokenError(f"{revision} is {self.kind(revision)}, and joins the group")
        self.sets[revision] = number
        for (owner, ordinal), state in list(self.pods.items()):
            if owner == revision and ordinal >= number and state != "leaving":
                self.pods[owner, ordinal] = "leaving"
        recreating = self.record is not None and self.record.phase is Phase.RECREATING
        exempt = self.paused or self.policy.recreates or recreating or self._is_misled()
        if before and not self._serving() and not exempt:
            raise BrokenError(f"no ready member any more, since {revision} has {number} of {old}")

    @property
    def is_shadowed(self) -> bool:
        """Whether no revision joins the group whose shadow was not good."""
        return self.policy.shadow is not None and not {"policy", "promote"} & self.budget.keys()

    def _is_misled(self) -> bool:
        """Whether the operator may not know what is there, or a user may ask for what breaks a promise."""
        return bool({"old news", "size"} & self.budget.keys())

    def _serving(self) -> set[tuple[str, int]]:
        """Return the ready members of revisions that may serve."""
        record = self.record
        if record is None:
            return set()
        tried = record.candidate if record.phase not in (Phase.RETURNING, Phase.HALTED) else None
        late = self.now - record.since >= self.policy.progress_deadline and record.phase is Phase.RETURNING
        return {
            (revision, ordinal)
            for (revision, ordinal), state in self.pods.items()
            if state == "ready"
            and not is_shadow(revision)
            and (not record.has_failed(revision) or revision in (record.stable, tried))
            and not (late and revision == record.candidate)
        }

    # what Kubernetes does

    def missing(self) -> list[tuple[str, int]]:
        return [
            (revision, ordinal)
            for revision, number in sorted(self.sets.items())
            for ordinal in range(number)
            if (revision, ordinal) not in self.pods
        ]

    def start(self, pod: tuple[str, int]) -> None:
        self.pods[pod] = "starting"
        most = self.members + self.policy.surge(self.members)
        if sum(not is_shadow(owner) for owner, _ in self.pods) > most and not self._is_misled():
            raise BrokenError(f"{len(self.pods)} members of at most {most}")

    def may_get_ready(self, pod: tuple[str, int]) -> bool:
        return self.pods[pod] == "starting" and self.kind(pod[0]) != "crashing"

    def what_rests(self) -> object:
        """What no longer changes in the end: records go on being stored, and counted while somebody is waited for."""
        counting = self.record and replace(self.record, candidate_stored=Tally(), stable_stored=Tally())
        return counting, self.sets, self.pods

    def settle(self) -> "World":
        """Let everything take its course without adversity, until nothing changes; return the world of then."""
        *_, last = self.course()
        return last

    def course(self) -> Iterator["World"]:
        """Yield the worlds that come of this one when nothing more strikes it; the last one is at rest."""
        world = self.clone()
        world.seen, world.outage, quiet = None, False, 0
        world.budget = dict.fromkeys(world.budget, 0)
        for _ in range(400):
            yield world
            before, world = world, world.clone()
            world.act(99)
            for pod, state in list(world.pods.items()):
                if state == "leaving":
                    del world.pods[pod]
                elif world.may_get_ready(pod):
                    world.pods[pod] = "ready"
            for pod in world.missing():
                world.start(pod)
            world.now += MINUTE
            same = before.what_rests() == world.what_rests()
            quiet = quiet + 1 if same else 0
            if quiet > OLDEST + 1:
                yield world
                return
        raise BrokenError(f"it never comes to rest: {world.record}")


def is_shadow(owner: str) -> bool:
    return owner.endswith(SHADOW)


# what must be in the end


def check_end(end: World) -> None:
    """Whether a world that has come to rest is as the spec and what is known of its revisions want it."""
    record = end.record
    assert record is not None
    there = [owner for owner in {*end.sets, *(owner for owner, _ in end.pods)} if is_shadow(owner)]
    _must(record.phase is Phase.SHADOWING or not there, f"a shadow is left: {there}")
    running = {revision: number for revision, number in end.sets.items() if number}
    if end.paused:
        _must(not running and not end.pods, f"paused, with {end.pods}")
        return
    if end.blocked:
        return
    desired, stable = end.kind(end.revision), end.kind(record.stable or "")
    is_good = end.is_good(end.revision)
    match record.phase:
        case Phase.STEADY:
            _must(running == {end.revision: end.members}, f"steady on {end.revision}, with {running}")
            unseen = end.policy.recreates or bool({"policy", "promote"} & end.budget.keys())
            _must(unseen or is_good or end.revision == "A", f"{end.revision} is {desired}, and was let in")
        case Phase.HALTED:
            _must(record.has_failed(end.revision), f"halted for no reason: {record}")
            _must(end.late or not is_good, f"{end.revision} is {desired}, and was not let in: {record}")
            at_rest = running == {record.stable: end.members}
            _must(at_rest or not end.policy.rolls_back, f"halted, with {running}: {record}")
        case Phase.STARTING:
            _must(desired == "crashing", f"never started: {record}")
        case Phase.SHADOWING | Phase.CANARY:
            _must(end.outage or (not is_good and stable != "good"), f"a canary for ever: {record}")
        case Phase.WAITING:
            _must(not end.promote.startswith(end.revision), f"waits though promoted: {record}")
        case _:
            raise BrokenError(f"left in {record}")


def _must(holds: bool, what: str) -> None:
    if not holds:
        raise BrokenError(what)
