"""The next safe replica counts of all revisions.

Members leave only as others are ready, and start only within the surge. So each call is one step towards the target
replica counts, whatever happens in between.
"""

from typing import Final

from logpersister_operator.rollout.fleet import Fleet
from logpersister_operator.rollout.inputs import RolloutInputs
from logpersister_operator.rollout.record import RolloutRecord
from logpersister_operator.rollout.target_replicas import target_replica_counts
from logpersister_operator.rollout.transitions import ONGOING, Phase

_JOINING: Final = ONGOING - {Phase.SHADOWING}
"""Phases in which the candidate has members."""


def next_replica_counts(record: RolloutRecord, inputs: RolloutInputs) -> dict[str, int]:
    """Return the members of every revision that has some, or shall have."""
    aims = target_replica_counts(record, inputs)
    revisions = {*aims, *inputs.fleets}
    if inputs.paused:
        return dict.fromkeys(revisions, 0)
    retained = _retained(record, inputs, aims)
    return _scaled_up(record, inputs, aims, retained)


# scaling down


def _retained(record: RolloutRecord, inputs: RolloutInputs, aims: dict[str, int]) -> dict[str, int]:
    retained = dict.fromkeys((*aims, *inputs.fleets), 0)
    retained |= _superseded(record, inputs)
    if record.candidate is not None:
        retained[record.candidate] = _of_candidate(record, inputs, aims[record.candidate])
    if record.stable is not None:
        retained[record.stable] = _of_stable(record, inputs, aims[record.stable])
        if record.phase in _JOINING and _ready(record, inputs) == 0:
            # Only a superseded revision works: the stable one, which does not, makes room for the candidate.
            others = sum(retained[revision] for revision in _others(record, inputs))
            retained[record.stable] = min(retained[record.stable], max(0, inputs.members - others))
    return retained


def _of_candidate(record: RolloutRecord, inputs: RolloutInputs, aim: int) -> int:
    mine = inputs.fleet(record.candidate)
    if record.phase is Phase.SHADOWING:  # what is left of an earlier try stays as long as it would be missed
        missing = inputs.members - inputs.fleet(record.stable).ready
        return min(mine.wanted, max(aim, missing)) if mine.ready else 0
    if record.phase is not Phase.RETURNING:
        return min(mine.wanted, aim)
    overdue = inputs.now - record.since >= inputs.policy.progress_deadline
    if _is_failed(record, record.candidate) or inputs.policy.recreates or overdue:
        return 0
    # Nothing is wrong with it: somebody wants the old revision back, without a gap.
    old = inputs.fleet(record.stable)
    if old.ready > 0 and old.wanted >= inputs.members:
        return 0
    return min(mine.wanted, max(0, inputs.members - old.ready))


def _of_stable(record: RolloutRecord, inputs: RolloutInputs, aim: int) -> int:
    mine, wanted = inputs.fleet(record.stable), inputs.members
    if record.phase in (Phase.ROLLING, Phase.WAITING):
        return min(mine.wanted, max(aim, wanted - inputs.fleet(record.candidate).ready))
    if record.phase is Phase.RECREATING:
        return 0
    return min(mine.wanted, wanted)


def _superseded(record: RolloutRecord, inputs: RolloutInputs) -> dict[str, int]:
    """Return the members of revisions that have no part any more.

    They stay as long as they would be missed, but never in the way of the candidate's next member.
    """
    if inputs.policy.recreates or record.phase is Phase.RECREATING:
        return {}
    ready = _ready(record, inputs)
    reserved = max(inputs.policy.surge(inputs.members), inputs.fleet(record.candidate).occupied + 1)
    room = inputs.most - reserved - inputs.fleet(record.stable).occupied
    retained = {}
    for revision, fleet in _others(record, inputs).items():
        if fleet.ready == 0 or record.has_failed(revision):
            continue
        missing = inputs.members - ready
        retained[revision] = fleet.wanted if ready == 0 else max(0, min(fleet.wanted, missing, room))
        room -= retained[revision]
        ready += min(fleet.ready, retained[revision])
    return retained


def _others(record: RolloutRecord, inputs: RolloutInputs) -> dict[str, Fleet]:
    ours = (record.candidate, record.stable)
    return {revision: fleet for revision, fleet in sorted(inputs.fleets.items()) if revision not in ours}


def _ready(record: RolloutRecord, inputs: RolloutInputs) -> int:
    """Return how many members of the revisions that have a part are ready, and work."""
    candidate = 0 if _is_failed(record, record.candidate) else inputs.fleet(record.candidate).ready
    return candidate + inputs.fleet(record.stable).ready


def _is_failed(record: RolloutRecord, revision: str | None) -> bool:
    return revision is not None and record.phase not in ONGOING and record.has_failed(revision)


# scaling up


def _scaled_up(
    record: RolloutRecord, inputs: RolloutInputs, aims: dict[str, int], retained: dict[str, int]
) -> dict[str, int]:
    """Return the members with those that may start now: a place is free once its pod is gone, not once it has to go."""
    members = dict(retained)
    room = inputs.most - sum(fleet.occupied for fleet in inputs.fleets.values())
    for revision in _in_order(record):
        fleet = inputs.fleet(revision)
        alone = all(one.is_gone for other, one in inputs.fleets.items() if other != revision)
        suspected = record.phase is Phase.ROLLING and record.suspicion is not None and revision == record.candidate
        leaving = retained[revision] < fleet.wanted
        if room < 0 or leaving or suspected or (inputs.policy.recreates and not alone):
            continue
        fitting = range(aims[revision], retained[revision], -1)
        more = {number: max(0, fleet.occupied_with(number) - fleet.occupied) for number in fitting}
        number = next((number for number in fitting if more[number] <= room), None)
        if number is not None:
            room -= more[number]
            members[revision] = number
    return members


def _in_order(record: RolloutRecord) -> list[str]:
    """Return the revisions in the order in which they start members: during a rollout the candidate first."""
    order = [record.candidate, record.stable] if record.phase in ONGOING else [record.stable, record.candidate]
    return [revision for revision in order if revision is not None]
