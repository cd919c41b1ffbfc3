"""What always holds, checked on every step before it is taken. What is broken here is a mistake in this package."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from logpersister_operator.rollout.inputs import RolloutInputs
from logpersister_operator.rollout.record import RolloutRecord
from logpersister_operator.rollout.transitions import Phase, may_follow


class RolloutError(Exception):
    """A step that must not be taken; the message says which invariant it breaks."""


def check(path: Sequence[RolloutRecord], inputs: RolloutInputs, members: Mapping[str, int], shadow: int) -> None:
    """Check the way of the record, and the members that are to be, if any; raises RolloutError."""
    record = path[-1]
    for before, after in pairwise(path):
        same = (before.phase, before.candidate) == (after.phase, after.candidate)
        _must(same or may_follow(before.phase, after.phase), f"{before.phase} is followed by {after.phase}")
    check_record(record)
    may_shadow = record.phase is Phase.SHADOWING and not inputs.paused
    _must(shadow == 0 or may_shadow, f"a shadow while {record.phase}")
    if not members:
        return
    if inputs.paused:
        _must(not any(members.values()), "a paused resource has members")
        return
    _check_room(inputs, members)
    _check_service(record, inputs, members)
    _check_trust(record, inputs, members)


def check_record(record: RolloutRecord) -> None:
    """Check that a record has the revisions that its phase is about; raises RolloutError."""
    roles = (record.stable is not None, record.candidate is not None)
    if record.phase is Phase.STARTING:
        _must(roles == (False, True), "the first revision has another one to go back to")
    elif record.phase is Phase.STEADY:
        _must(roles == (True, False), "a steady resource has a candidate, or nothing that is stable")
    else:
        _must(roles == (True, True), f"{record.phase} without a stable revision and a candidate")
        _must(record.stable != record.candidate, "a revision takes over from itself")


def _check_room(inputs: RolloutInputs, members: Mapping[str, int]) -> None:
    """There are at most the wanted number of members and the surge: what is more than that only gets less."""
    before = sum(fleet.occupied for fleet in inputs.fleets.values())
    after = sum(inputs.fleet(revision).occupied_with(number) for revision, number in members.items())
    _must(after <= max(before, inputs.most), f"{after} members, of at most {inputs.most}")


def _check_service(record: RolloutRecord, inputs: RolloutInputs, members: Mapping[str, int]) -> None:
    """Never without a ready member while one exists that works, unless that is what the spec asks for."""
    if inputs.policy.recreates or record.phase is Phase.RECREATING or inputs.members == 0:
        return
    withdrawn = record.candidate if record.phase is Phase.RETURNING else None
    if withdrawn is not None and inputs.now - record.since < inputs.policy.progress_deadline:
        withdrawn = None  # it may go without a successor only when none came in time
    working = {
        revision: fleet.ready
        for revision, fleet in inputs.fleets.items()
        if fleet.ready > 0 and revision != withdrawn and not _is_failed(record, revision)
    }
    left = sum(min(ready, members.get(revision, 0)) for revision, ready in working.items())
    _must(not working or left > 0, f"no ready member is left of {working}")


def _check_trust(record: RolloutRecord, inputs: RolloutInputs, members: Mapping[str, int]) -> None:
    """Members of a revision that is not trusted do not become more."""
    attempt = inputs.policy.attempt
    for revision, number in members.items():
        there = inputs.fleet(revision).wanted
        if number <= there:
            continue
        _must(record.failure_of(revision, attempt) is None or revision == record.stable, "a failed revision regains")
        _must(revision in (record.stable, record.candidate), "a superseded revision regains members")
        if revision == record.candidate:
            _must(record.phase not in (Phase.RETURNING, Phase.HALTED), "a withdrawn revision regains members")
            _must(record.phase is not Phase.SHADOWING, "a revision joins the group before it was compared")
            if record.phase is Phase.CANARY:
                _must(number <= inputs.policy.members_after(0, inputs.members), "more members than a canary has")


def _is_failed(record: RolloutRecord, revision: str) -> bool:
    ongoing = record.candidate == revision and record.phase not in (Phase.RETURNING, Phase.HALTED)
    return record.has_failed(revision) and revision != record.stable and not ongoing


def _must(holds: bool, invariant: str) -> None:  # noqa: FBT001 - an assertion with a name
    if not holds:
        raise RolloutError(invariant)
