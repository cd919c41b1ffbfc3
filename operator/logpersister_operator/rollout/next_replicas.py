"""The next safe change of members: those that are no longer needed leave, and into the room that is left others come.

Members leave only as others are ready, and come only while there is room; so each call is one step of a way that ends
at the goals, whatever happens between.
"""

from typing import Final

from logpersister_operator.rollout.fleet import Fleet
from logpersister_operator.rollout.inputs import Situation
from logpersister_operator.rollout.record import Record
from logpersister_operator.rollout.target_replicas import goals
from logpersister_operator.rollout.transitions import ONGOING, Phase

_JOINING: Final = ONGOING - {Phase.SHADOWING}
"""Phases in which the candidate has members."""


def move(record: Record, situation: Situation) -> dict[str, int]:
    """Return the members of every revision that has some, or shall have."""
    aims = goals(record, situation)
    revisions = {*aims, *situation.fleets}
    if situation.paused:
        return dict.fromkeys(revisions, 0)
    kept = _kept(record, situation, aims)
    return _grown(record, situation, aims, kept)


# who leaves


def _kept(record: Record, situation: Situation, aims: dict[str, int]) -> dict[str, int]:
    """Return how many members of those that are wanted each revision keeps."""
    kept = dict.fromkeys((*aims, *situation.fleets), 0)
    kept |= _superseded(record, situation)
    if record.candidate is not None:
        kept[record.candidate] = _of_candidate(record, situation, aims[record.candidate])
    if record.stable is not None:
        kept[record.stable] = _of_stable(record, situation, aims[record.stable])
        if record.phase in _JOINING and _ready(record, situation) == 0:
            # Only a superseded revision works: the stable one, which does not, makes room for the candidate.
            others = sum(kept[revision] for revision in _others(record, situation))
            kept[record.stable] = min(kept[record.stable], max(0, situation.members - others))
    return kept


def _of_candidate(record: Record, situation: Situation, aim: int) -> int:
    mine = situation.fleet(record.candidate)
    if record.phase is Phase.SHADOWING:  # what is left of an earlier try stays as long as it would be missed
        missing = situation.members - situation.fleet(record.stable).ready
        return min(mine.wanted, max(aim, missing)) if mine.ready else 0
    if record.phase is not Phase.RETURNING:
        return min(mine.wanted, aim)
    if _is_failed(record, record.candidate) or situation.policy.recreate or _is_overdue(record, situation):
        return 0
    # Nothing is wrong with it: somebody wants the old revision back, without a gap.
    old = situation.fleet(record.stable)
    if old.ready > 0 and old.wanted >= situation.members:
        return 0
    return min(mine.wanted, max(0, situation.members - old.ready))


def _of_stable(record: Record, situation: Situation, aim: int) -> int:
    mine, wanted = situation.fleet(record.stable), situation.members
    if record.phase in (Phase.ROLLING, Phase.WAITING):
        return min(mine.wanted, max(aim, wanted - situation.fleet(record.candidate).ready))
    if record.phase is Phase.RECREATING:
        return 0
    return min(mine.wanted, wanted)


def _superseded(record: Record, situation: Situation) -> dict[str, int]:
    """Return the members of revisions that have no part any more.

    They stay as long as they would be missed, but never in the way of the candidate's next member.
    """
    if situation.policy.recreate or record.phase is Phase.RECREATING:
        return {}
    ready = _ready(record, situation)
    reserved = max(situation.policy.surge(situation.members), situation.fleet(record.candidate).occupied + 1)
    room = situation.most - reserved - situation.fleet(record.stable).occupied
    kept = {}
    for revision, fleet in _others(record, situation).items():
        if fleet.ready == 0 or record.has_failed(revision):
            continue
        missing = situation.members - ready
        kept[revision] = fleet.wanted if ready == 0 else max(0, min(fleet.wanted, missing, room))
        room -= kept[revision]
        ready += min(fleet.ready, kept[revision])
    return kept


def _others(record: Record, situation: Situation) -> dict[str, Fleet]:
    ours = (record.candidate, record.stable)
    return {revision: fleet for revision, fleet in sorted(situation.fleets.items()) if revision not in ours}


def _ready(record: Record, situation: Situation) -> int:
    """Return how many members of the revisions that have a part are ready, and work."""
    candidate = 0 if _is_failed(record, record.candidate) else situation.fleet(record.candidate).ready
    return candidate + situation.fleet(record.stable).ready


def _is_failed(record: Record, revision: str | None) -> bool:
    return revision is not None and record.phase not in ONGOING and record.has_failed(revision)


def _is_overdue(record: Record, situation: Situation) -> bool:
    return situation.now - record.since >= situation.policy.deadline


# who comes


def _grown(record: Record, situation: Situation, aims: dict[str, int], kept: dict[str, int]) -> dict[str, int]:
    """Return the members with those that may start now: room is what others have left, not what they are told to."""
    members = dict(kept)
    room = situation.most - sum(fleet.occupied for fleet in situation.fleets.values())
    for revision in _in_order(record):
        fleet = situation.fleet(revision)
        alone = all(one.is_gone for other, one in situation.fleets.items() if other != revision)
        suspected = record.phase is Phase.ROLLING and record.suspicion is not None and revision == record.candidate
        leaving = kept[revision] < fleet.wanted
        if room < 0 or leaving or suspected or (situation.policy.recreate and not alone):
            continue
        fitting = range(aims[revision], kept[revision], -1)
        more = {number: max(0, fleet.occupied_with(number) - fleet.occupied) for number in fitting}
        number = next((number for number in fitting if more[number] <= room), None)
        if number is not None:
            room -= more[number]
            members[revision] = number
    return members


def _in_order(record: Record) -> list[str]:
    """Return who may start first: the candidate while it is let in, else the one that has proven itself."""
    order = [record.candidate, record.stable] if record.phase in ONGOING else [record.stable, record.candidate]
    return [revision for revision in order if revision is not None]
