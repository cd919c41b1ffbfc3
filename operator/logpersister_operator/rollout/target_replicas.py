"""The replica counts that the present phase leads to."""

from logpersister_operator.rollout.inputs import RolloutInputs
from logpersister_operator.rollout.record import RolloutRecord
from logpersister_operator.rollout.transitions import Phase


def target_replica_counts(record: RolloutRecord, inputs: RolloutInputs) -> dict[str, int]:
    """Return the replica counts of candidate and stable revision; all other revisions get 0."""
    candidate, stable = _numbers(record, inputs)
    found = {}
    if record.candidate is not None:
        found[record.candidate] = 0 if inputs.paused else candidate
    if record.stable is not None:
        found[record.stable] = 0 if inputs.paused else stable
    return found


def _numbers(record: RolloutRecord, inputs: RolloutInputs) -> tuple[int, int]:
    wanted, policy = inputs.members, inputs.policy
    match record.phase:
        case Phase.STARTING | Phase.RECREATING:
            return wanted, 0
        case Phase.SHADOWING:
            return 0, wanted
        case Phase.CANARY:
            return policy.members_after(0, wanted), wanted
        case Phase.ROLLING | Phase.WAITING:
            members = policy.members_after(record.step, wanted)
            return members, wanted - members
        case Phase.HALTED if not policy.rolls_back:
            there = min(inputs.fleet(record.candidate).wanted, wanted)
            return there, wanted if record.step == 0 else wanted - there
        case _:  # steady, or on the way back
            return 0, wanted
