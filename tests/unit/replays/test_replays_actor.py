"""What the actor of replays asks the API server."""

from typing import Any
from unittest.mock import Mock

import pytest

from logpersister_operator.cluster.kinds import LOGPERSISTER, Document, Kind
from logpersister_operator.commons import Commons
from logpersister_operator.metrics import Metrics
from logpersister_operator.observe.children import Children
from logpersister_operator.replays.replays_actor import Replays
from logpersister_operator.settings import Settings
from tests.unit.kubernetes.samples import IMAGE
from tests.unit.replays.life import LIVE, PLAN, ReplayLife


class Api:
    """Has the LogPersister and all Secrets."""

    def get(self, kind: Kind, namespace: str, name: str) -> Document:
        return (
            LIVE
            if kind is LOGPERSISTER
            else {"metadata": {"name": name, "namespace": namespace, "uid": name}, "data": {}}
        )


@pytest.mark.parametrize(("uid", "is_planned"), [("another", False), (None, True)])
def test_the_plan_of_an_earlier_replay_of_the_same_name_is_no_plan(uid: str | None, is_planned: bool) -> None:
    life, children = ReplayLife(), Children(lambda _: None)
    life.step()
    plan = life.children[PLAN]
    plan["metadata"] |= {"resourceVersion": "7"}
    plan["metadata"]["ownerReferences"][0]["uid"] = uid or life.document["metadata"]["uid"]
    children.seen(plan)
    children.complete()
    cluster: Any = Api()
    actor = Replays(Commons(Settings(IMAGE), cluster, children, Mock(spec=Metrics), lambda _: ""))
    observed = actor._observe({**life.document, "metadata": {**life.document["metadata"], "resourceVersion": "3"}})
    actor.close()
    assert (observed.plan is not None, observed.wanted is None) == (is_planned, is_planned)
    if observed.wanted is not None:
        assert observed.wanted.resource.manifest is not None
