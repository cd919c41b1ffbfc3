"""Rebalances that come one after the other, and what causes them. Pure; what it must remember stands in the status.

Each time somebody joins or leaves, Kafka shares the partitions out anew, in one or two new generations of the group.
While it does, members commit and promise nothing for what moves.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from logpersister.report.human import duration, plural
from logpersister_operator.crd.status_members import Rebalance
from logpersister_operator.decide.conditions import Aspect, Verdict, no, unknown, yes
from logpersister_operator.decide.reasons import Reason
from logpersister_operator.decide.reported import Reported
from logpersister_operator.observed_objects import Pod

WINDOW: Final = timedelta(minutes=10)
"""Rebalances are counted for so long, and a storm is over when none has come for half of it."""
MOST: Final = 10
"""Rebalances of a window that are no storm yet, and `EACH` for every member that shall be there."""
EACH: Final = 3


def counted(now: datetime, group_generation: int | None, before: Rebalance | None) -> tuple[datetime, int] | None:
    """Return since when generations of the group are counted, and from which one on; None when none is known.

    It does not change while nothing happens.
    """
    if group_generation is None:
        return None
    known = _counted_from(before)
    if known is None or before is None or before.group_generation is None or group_generation < known[1]:
        return now.replace(microsecond=0), group_generation
    if now - known[0] > WINDOW and group_generation > before.group_generation:
        return now.replace(microsecond=0), before.group_generation
    return known


def group_stable(
    reported: Reported, pods: Iterable[Pod], rebalance: Rebalance | None, wanted: int, *, changing: bool
) -> Verdict:
    """Judge whether members keep their partitions.

    Args:
        changing: whether members of revisions come and go because the spec wants it.
    """
    aspect = Aspect.GROUP_STABLE
    before = reported.previous(aspect)
    known = _counted_from(rebalance)
    if rebalance is None or known is None or rebalance.group_generation is None:
        return unknown(aspect, Reason.NO_MEMBER_ANSWERS, "no member reports the generation of the group")
    count = rebalance.group_generation - known[1]
    resting = rebalance.last is None or reported.now - rebalance.last > WINDOW / 2
    goes_on = before is not None and before.status == "False" and not resting
    if changing or wanted == 0 or not (goes_on or count > MOST + EACH * wanted):
        return yes(aspect, Reason.FEW_REBALANCES, "members keep their partitions")
    reason, cause = _cause(reported, pods)
    since = duration(max(1.0, (reported.now - known[0]).total_seconds()))
    return no(aspect, reason, f"{plural(count, 'rebalance')} in the last {since}: {cause}")


def _counted_from(rebalance: Rebalance | None) -> tuple[datetime, int] | None:
    if rebalance is None or rebalance.counted_since is None or rebalance.counted_from is None:
        return None
    return rebalance.counted_since, rebalance.counted_from


def _cause(reported: Reported, pods: Iterable[Pod]) -> tuple[Reason, str]:
    """Return what is found: a member that restarts, one that is silent, or nothing."""
    for pod in pods:
        ended = _last_end(pod)
        if ended is not None and reported.now - ended[0] <= WINDOW:
            return Reason.MEMBER_RESTARTING, f"member {pod.name} restarts ({ended[1]}); its log says why"
    for name, report in sorted(reported.by_name.items()):
        lost = ((report.document or {}).get("rebalance") or {}).get("lostPartitions", 0)
        if lost:
            cause = f"member {name} was silent for spec.kafka.sessionTimeout and lost {plural(lost, 'partition')}"
            return Reason.MEMBER_SILENT, f"{cause}; does it lack CPU, or is Kafka hard to reach?"
    return Reason.MANY_REBALANCES, "members come and go; does another program use this consumer group?"


def _last_end(pod: Pod) -> tuple[datetime, str] | None:
    found: list[tuple[datetime, str]] = []
    for container in pod.containers:
        ended = container.ended_before
        if ended is not None and ended.finished is not None:
            code = "?" if ended.exit_code is None else ended.exit_code
            found.append((ended.finished, f"{plural(container.restarts, 'time')}, exit code {code}"))
    return max(found, default=None)
