"""What an administrator does by the chart to three resources that run: a later image, a drained node.

They have an operator of their own, so that those of the other tests never meet the later image. That a later operator
restarts nobody is in tests/integration/kubernetes/test_upgrades.py.
"""

import os
from collections.abc import Callable, Collection, Sequence
from typing import Final

import pytest

from tests.chart.helm import CHART
from tests.cluster.conftest import PARTITIONS, PROMPT, RELEASE, MakePersister, release
from tests.cluster.environment import MEMBER_IMAGE, OPERATOR_IMAGE, OWN_NODE
from tests.cluster.kubectl import Document, Kubectl
from tests.cluster.node import images
from tests.cluster.persister import Persister, ready, waits_for_a_node
from tests.integration.harness.workload import Workload
from tests.stack import KafkaBroker

pytestmark = pytest.mark.skipif(OWN_NODE not in os.environ, reason="images are made on our own node only")

_NAMES: Final = ("clicks", "views", "orders")
_STEPS: Final = {
    "canary": {"analysis": {"duration": "0s", "minRanges": 0}},
    # One that waits for promotion keeps the place of the others for as long as the test looks.
    "steps": [{"members": 1, "pause": {}}],
}


@pytest.fixture(scope="module")
def persisters(kubectl: Kubectl, make_persister: MakePersister, workload: Workload) -> Sequence[Persister]:
    """Resources that have stored something."""
    _bring(kubectl)
    made = [make_persister(name, f"upgrades-{name}", kubectl.namespace, image=None, rollout=_STEPS) for name in _NAMES]
    for one in made:
        workload.write(one.topic, 500, partitions=PARTITIONS, size=100)
    for one in made:
        one.wait("Ready", "True", "MembersReady")
        one.wait_stored()
    return made


def test_a_later_image_reaches_one_resource_after_the_other(persisters: Sequence[Persister], kubectl: Kubectl) -> None:
    image = f"{os.environ[MEMBER_IMAGE]}-later"
    images.tag(os.environ[MEMBER_IMAGE], image)
    old = {one.name: one.restarts() for one in persisters}
    _bring(kubectl, member=image, maxConcurrentRollouts=1)
    waiting = list(persisters)
    while waiting:
        (turn,) = waiting[0].eventually("one resource waits for promotion", _promotable(waiting))
        waiting.remove(turn)
        for one in waiting:
            one.eventually(f"it waits for {turn.name}", _waits_for(one, turn))
            assert one.restarts() == old[one.name]
        promotion = f"logpersister.dev/promote={turn.status()['rollout']['candidate']}"
        kubectl("annotate", "logpersister", turn.name, promotion)
        turn.wait("Reconciling", "False", "UpToDate")
        assert not turn.restarts().keys() & old[turn.name].keys()
        assert {pod["spec"]["containers"][0]["image"] for pod in turn.pods().values()} == {image}


@pytest.mark.alone
def test_a_node_is_drained_while_no_member_is_ready(persisters: Sequence[Persister], kafka: KafkaBroker) -> None:
    """Of two, a budget that counts those that are not ready lets none go.

    They come back when the others no longer wait for this test: all that is there is verified in the end.
    """
    persister = persisters[0]
    persister.apply(members=2)
    persister.eventually("two members", lambda: len(persister.pods()) == 2)
    first = persister.restarts().keys()
    kafka.suspend()
    try:
        persister.kubectl("delete", "pods", *persister.pods(), "--grace-period=0", "--force")
        persister.eventually("two others run", lambda: len(_running(persister, first)) == 2)
        second = _running(persister, first)
        assert not any(map(ready, second.values())), "they wait for the brokers"
        nodes = {pod["spec"]["nodeName"] for pod in second.values()}
        try:
            persister.drain(nodes)
            assert not persister.restarts().keys() & second.keys()
            persister.eventually("all wait for a node", lambda: all(map(waits_for_a_node, persister.pods().values())))
        finally:
            persister.kubectl("uncordon", *nodes)
    finally:
        kafka.resume()


def _bring(kubectl: Kubectl, *, member: str | None = None, **settings: object) -> None:
    """Bring the release to these settings, and to an image of members."""
    values = {
        "image": {"operator": os.environ[OPERATOR_IMAGE], "member": member or os.environ[MEMBER_IMAGE]},
        "namespaces": [kubectl.namespace],
        "settings": PROMPT | settings,
        # What concerns the cluster belongs to the common release.
        "crds": {"install": False},
        "rbac": {"userRoles": False},
        "release": {"enabled": False},
    }
    arguments = ("upgrade", "--install", RELEASE, str(CHART), "--wait")
    release(*arguments, values=values, namespace=kubectl.namespace)


def _promotable(persisters: Sequence[Persister]) -> Callable[[], list[Persister]]:
    return lambda: [one for one in persisters if one.condition("Reconciling").get("reason") == "WaitingForPromotion"]


def _waits_for(persister: Persister, holder: Persister) -> Callable[[], bool]:
    def waits() -> bool:
        found = persister.condition("Reconciling")
        return found.get("reason") == "WaitingForTurn" and holder.name in found["message"]

    return waits


def _running(persister: Persister, before: Collection[str]) -> dict[str, Document]:
    """Return the members that run and were not there before, by the uid of their pod."""
    pods = {pod["metadata"]["uid"]: pod for pod in persister.pods().values()}
    return {uid: pod for uid, pod in pods.items() if uid not in before and pod["status"]["phase"] == "Running"}
