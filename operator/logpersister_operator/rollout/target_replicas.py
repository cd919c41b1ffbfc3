"""How many members each revision has when the present phase has got what it wants."""

from logpersister_operator.rollout.inputs import Situation
from logpersister_operator.rollout.record import Record
from logpersister_operator.rollout.transitions import Phase


def goals(record: Record, situation: Situation) -> dict[str, int]:
    """Return the members of the revisions that have a part; all others shall have none."""
    candidate, stable = _numbers(record, situation)
    found = {}
    if record.candidate is not None:
        found[record.candidate] = 0 if situation.paused else candidate
    if record.stable is not None:
        found[record.stable] = 0 if situation.paused else stable
    return found


def _numbers(record: Record, situation: Situation) -> tuple[int, int]:
    """Return the members of the candidate and of the stable revision."""
    wanted, policy = situation.members, situation.policy
    match record.phase:
        case Phase.STARTING | Phase.RECREATING:
            return wanted, 0
        case Phase.SHADOWING:
            return 0, wanted
        case Phase.CANARY:
            return policy.members(0, wanted), wanted
        case Phase.ROLLING | Phase.WAITING:
            members = policy.members(record.step, wanted)
            return members, wanted - members
        case Phase.HALTED if not policy.rolls_back:
            there = min(situation.fleet(record.candidate).wanted, wanted)
            return there, wanted if record.step == 0 else wanted - there
        case _:  # steady, or on the way back
            return 0, wanted
