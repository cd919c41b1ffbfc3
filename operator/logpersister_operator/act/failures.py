"""A reconciliation that fails, told on the resource itself: otherwise its status would stand still without a reason."""

from datetime import datetime
from typing import Final

from logpersister.report.human import plural
from logpersister_operator.cluster.kinds import Document
from logpersister_operator.crd.status import Condition
from logpersister_operator.decide.conditions import Aspect, conditions, no
from logpersister_operator.decide.reasons import Reason
from logpersister_operator.observed_state import Resource

_OTHERS: Final = "the other conditions are as the last complete reconciliation found them; it is tried again"


def failed_condition(resource: Resource, error: str, attempts: int, now: datetime) -> Condition:
    """Return the condition of a resource whose reconciliation has failed so many times in a row."""
    message = f"{error} ({plural(attempts, 'attempt')} in a row); {_OTHERS}"
    verdict = no(Aspect.RECONCILED, Reason.RECONCILIATION_FAILED, message)
    (failed,) = conditions(resource.status.conditions, [verdict], resource.generation, now)
    return failed


def failed_status(status: Document, failed: Condition) -> Document:
    """Return the last status of a resource with that condition in place of the one before."""
    others = [one for one in status.get("conditions") or [] if one["type"] != failed.type]
    told = failed.model_dump(mode="json", by_alias=True, exclude_none=True)
    summary = {**(status.get("summary") or {}), "state": failed.reason}
    return {**status, "conditions": [*others, told], "summary": summary}
