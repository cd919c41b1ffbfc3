"""Why objects wait, in the words of Kubernetes: of quotas, volumes and images."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from logpersister_operator.cluster.connection import ClusterError
from logpersister_operator.cluster.kinds import Document
from logpersister_operator.decide.health.observed_fleets import unexplained
from logpersister_operator.observe.object_events import AGAIN_SECONDS, PATIENCE_SECONDS, ObjectEvents, last_warning
from tests.unit.kubernetes.fake_cluster import FakeCluster
from tests.unit.kubernetes.samples import NOW, Life, by_reference, condition, pod, resource, verdict, waiting

QUOTA = 'create Pod clicks-0 in StatefulSet clicks failed error: pods "clicks-0" is forbidden: exceeded quota'
PULL = 'Failed to pull image "x:1": manifest unknown'


def event(reason: str, message: str, minute: int, kind: str = "Warning") -> Document:
    time = f"2026-11-21T12:{minute:02d}:00Z"
    return {"reason": reason, "message": message, "type": kind, "lastTimestamp": time, "metadata": {}}


def test_the_newest_warning_that_says_why() -> None:
    pulls = [event("Failed", PULL, 1), event("Failed", "Error: ErrImagePull", 2), event("BackOff", "Back-off", 3)]
    assert last_warning(pulls) == PULL
    assert last_warning([event("FailedMount", "old", 1), event("FailedMount", "no\n secret", 2)]) == "no secret"
    micro = {"type": "Warning", "reason": "X", "message": "newest", "eventTime": "2026-11-21T12:09:00.123456Z"}
    assert last_warning([*pulls, {**micro, "lastTimestamp": None, "metadata": {}}]) == "newest"
    assert last_warning([event("FailedCreate", QUOTA, 1), event("SuccessfulCreate", "made", 2, "Normal")]) == ""
    assert last_warning([]) == ""


class Told(FakeCluster):
    """Answers with these Events."""

    asked = 0
    answer: Sequence[Document] | ClusterError = ()

    def events(self, namespace: str, uid: str) -> list[Document]:
        self.asked += 1
        if isinstance(self.answer, ClusterError):
            raise self.answer
        return list(self.answer)


def test_events_are_asked_for_when_an_object_has_waited_and_not_all_the_time() -> None:
    now, cluster = [100.0], Told()
    events = ObjectEvents(lambda: now[0])

    def read(seconds: float, *uids: str) -> Any:
        now[0] += seconds
        return events.read(cluster, "logs", uids)

    cluster.answer = [event("FailedCreate", QUOTA, 1)]
    assert (read(0, "a"), cluster.asked) == ({}, 0), "what is on its way is asked nothing"
    assert (read(PATIENCE_SECONDS, "a"), cluster.asked) == ({"a": QUOTA}, 1)
    assert (read(1, "a"), cluster.asked) == ({"a": QUOTA}, 1)
    cluster.answer = ClusterError("forbidden", 403)
    assert (read(AGAIN_SECONDS, "a"), cluster.asked) == ({"a": QUOTA}, 2)
    assert read(0) == {}
    assert (read(1, "a"), cluster.asked) == ({}, 2), "it waits anew"
    cluster.answer = ClusterError("the API server did not answer")
    read(0, "b", "c")
    read(PATIENCE_SECONDS, "b", "c")
    assert cluster.asked == 3, "each question without an answer costs its deadline"
    cluster.answer = [event("FailedCreate", QUOTA, 1)]
    assert (read(1, "b", "c"), cluster.asked) == ({"c": QUOTA}, 4)


def test_pods_that_are_refused_say_why_and_it_clears_by_itself() -> None:
    life = Life(resource(members=2))
    life.step()
    (stateful_set,) = life.observed().own.stateful_sets().values()
    plan = life.step(told={stateful_set.uid: QUOTA})
    assert verdict(plan, "Stalled") == ("True", "Refused")
    assert condition(plan, "Stalled")["message"].startswith("0 of 2 pods of ")
    assert QUOTA in condition(plan, "Ready")["message"]
    life.get_ready()
    plan = life.step(told={stateful_set.uid: QUOTA})
    assert verdict(plan, "Ready") == ("True", "MembersReady")
    assert verdict(plan, "Stalled") == ("False", "Progressing")


@pytest.mark.parametrize("component", ["member", "executor"])
@pytest.mark.parametrize(
    ("reason", "told", "expected"),
    [
        ("ContainerCreating", 'secret "s3" not found', ("True", "PodNotStartable")),
        ("ContainerCreating", "", ("False", "Progressing")),
        ("ImagePullBackOff", PULL, ("True", "ImageUnavailable")),
    ],
)
def test_a_pod_that_does_not_start_says_why(reason: str, told: str, expected: tuple[str, str], component: str) -> None:
    life = Life()
    life.step()
    (revision,) = life.revisions()
    held_up = pod("clicks-backup-0", revision=revision, containerStatuses=[waiting(reason, "Back-off")])
    held_up["metadata"]["uid"], held_up["spec"] = "77", {"nodeName": "node-1"}
    held_up["metadata"]["labels"]["app.kubernetes.io/component"] = component
    life.children |= by_reference([held_up])
    plan = life.step(told={"77": told} if told else {})
    assert verdict(plan, "Stalled") == expected
    assert told in condition(plan, "Stalled")["message"]
    assert "77" in unexplained(life.observed().own)


def test_a_node_that_is_lost_is_named_with_what_to_do() -> None:
    life = Life()
    life.step()
    (revision,) = life.revisions()
    leaving = pod("clicks-backup-0", revision=revision)
    leaving["spec"] = {"nodeName": "node-1"}
    leaving["metadata"]["deletionTimestamp"] = (NOW - timedelta(seconds=30)).isoformat()
    life.children |= by_reference([leaving])
    assert verdict(life.step(), "Stalled") == ("False", "Progressing"), "it may still end"
    leaving["metadata"]["deletionTimestamp"] = (NOW - timedelta(seconds=90)).isoformat()
    plan = life.step()
    assert verdict(plan, "Stalled") == ("True", "NodeLost")
    for words in ("pod clicks-backup-0", "kubectl taint node node-1 node.kubernetes.io/out-of-service", "--force"):
        assert words in condition(plan, "Stalled")["message"]
