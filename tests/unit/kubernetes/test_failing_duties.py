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


def aspects(plan_status: Document) -> set[str]:
    return {one["type"] for one in plan_status["conditions"]}


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


def test_an_attempt_that_does_not_end_is_told() -> None:
    hanging = failing("clicks", seconds=400, failures=0, message="its attempt does not end") | {"hangs": True}
    plan = Life().step(reports=saying(duty(hanging, name="webhook")))
    assert condition(plan, ASPECT)["message"] == (
        "webhook of topic clicks hangs: its attempt does not end (it began 2026-11-21T11:53:20Z)"
    )


def test_silence_and_a_pause_are_no_failure_and_a_manifest_without_duties_forgets_it() -> None:
    life = Life()
    before = life.step(reports=saying(duty(failing("clicks", seconds=90))))
    assert condition(life.step(), ASPECT) == condition(before, ASPECT), "a new operator has asked nobody yet"
    plan = life.step(reports={"a-0": MemberReport(None, "ConnectTimeout")})
    assert verdict(plan, ASPECT) == ("Unknown", "NoMemberAnswers")
    life.annotate(**{"logpersister.dev/paused": "true"})
    assert verdict(life.step(reports={}), ASPECT) == ("Unknown", "Paused")
    assert ASPECT not in aspects(life.step(reports=saying()).status)
