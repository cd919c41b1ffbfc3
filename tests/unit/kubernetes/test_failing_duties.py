"""Work on whole topics that fails: the condition, its message and its event."""

from datetime import timedelta

from logpersister_operator.cluster.kinds import Document
from logpersister_operator.observed_state import MemberReport
from tests.unit.kubernetes.samples import NOW, Life, condition, report, verdict

ASPECT = "DutiesSucceeding"


def failing(topic: str, *, seconds: float, failures: int = 4, message: str = "bucket logs: access denied") -> Document:
    since = (NOW - timedelta(seconds=seconds)).isoformat()
    return {"topic": topic, "failures": failures, "message": message, "since": since}


def duty(*topics: Document, name: str = "finish") -> Document:
    return {"duty": name, "topics": 3, "failing": {"count": len(topics), "first": list(topics)}}


def saying(*duties: Document) -> dict[str, MemberReport]:
    return {"a-0": report(duties=list(duties))}


def test_a_topic_that_fails_for_a_minute_is_told_with_what_was_tried() -> None:
    life = Life()
    assert verdict(life.step(reports=saying(duty())), ASPECT) == ("True", "DutiesSucceed")
    plan = life.step(reports=saying(duty(failing("clicks", seconds=59))))
    assert verdict(plan, ASPECT)[0] == "True", "it is about to be tried again"
    others = duty(failing("orders", seconds=70), failing("views", seconds=10), name="table")
    plan = life.step(reports=saying(duty(failing("clicks", seconds=90)), others))
    assert verdict(plan, ASPECT) == ("False", "DutyFailing")
    assert condition(plan, ASPECT)["message"] == (
        "finish of topic clicks fails: bucket logs: access denied "
        "(4 attempts since 2026-11-21T11:58:30Z; it is retried); 1 other topic too"
    )
    assert [(event.reason, event.warning) for event in plan.events] == [("DutyFailing", True)]
    assert verdict(plan, "UploadsSucceeding")[0] == "True", "records are stored all the same"
    plan = life.step(reports=saying(duty()))
    assert [(event.reason, event.warning) for event in plan.events] == [("DutiesSucceed", False)]
