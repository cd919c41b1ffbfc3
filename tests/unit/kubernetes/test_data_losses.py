"""What Kafka deleted before it was stored is told for as long as nobody has acknowledged it, whoever found it."""

from datetime import timedelta
from typing import Any

from logpersister_operator.observed_state import MemberReport
from logpersister_operator.plan import Plan
from tests.unit.kubernetes.samples import NOW, Life, condition, report, verdict

ACKNOWLEDGED = "logpersister.dev/losses-acknowledged"


def lost(*gaps: tuple[int, int], skipped: bool = True) -> MemberReport:
    """Return the report of a member that found gaps of a partition."""
    recent = [{"topic": "clicks", "partition": 3, "start": one, "end": end, "skipped": skipped} for one, end in gaps]
    return report(dataLoss={"offsets": sum(end - start for start, end in gaps), "recent": recent})


def step(life: Life, *members: MemberReport, minutes: float = 0, **known: Any) -> Plan:
    reports = {f"clicks-backup-{number}": one for number, one in enumerate(members)}
    return life.step(reports=reports, now=NOW + timedelta(minutes=minutes), **known)


def test_it_outlives_the_member_that_found_it() -> None:
    life = Life()
    assert verdict(step(life, report()), "DataComplete") == ("True", "NothingLost")
    plan = step(life, lost((100, 150)))
    for members in ((report(),), ()):
        plan = step(life, *members, minutes=5)
        assert plan.status["dataLoss"]["records"] == 50
        assert verdict(plan, "DataComplete") == ("False", "RecordsLost")
    assert "50 records in 1 range" in condition(plan, "DataComplete")["message"]
    assert "clicks-3@100 to 150" in condition(plan, "DataComplete")["message"]


def test_a_gap_that_is_told_again_counts_once_and_may_grow() -> None:
    life = Life()
    step(life, lost((100, 150), skipped=False))
    plan = step(life, lost((100, 150), skipped=False), lost((100, 170), (300, 301), skipped=False), minutes=1)
    assert plan.status["dataLoss"]["records"] == 71
    assert plan.status["dataLoss"]["ranges"] == 2
    assert step(life, lost((100, 170), skipped=False), minutes=9).status["dataLoss"] == plan.status["dataLoss"]


def test_what_was_acknowledged_makes_the_condition_true_until_more_is_lost() -> None:
    life = Life()
    told = condition(step(life, lost((100, 150))), "DataComplete")["message"]
    time = told.rpartition(f"{ACKNOWLEDGED}=")[2]
    life.annotate(**{ACKNOWLEDGED: time})
    plan = step(life, lost((100, 150)), minutes=1)
    assert verdict(plan, "DataComplete") == ("True", "NothingLost")
    assert plan.status["dataLoss"]["records"] == 50
    plan = step(life, lost((100, 150), (300, 301)), minutes=2)
    assert verdict(plan, "DataComplete") == ("False", "RecordsLost")
    assert "clicks-3@300" in condition(plan, "DataComplete")["message"]
    life.annotate(**{ACKNOWLEDGED: "yesterday"})
    assert verdict(step(life, minutes=3), "DataComplete") == ("False", "RecordsLost")
