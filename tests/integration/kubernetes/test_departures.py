"""Members that left for good, before a real broker: others get their partitions long before sessions time out."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import pytest

from logpersister.group.membership import Membership, MembershipSettings
from logpersister.manifest import parse
from logpersister.manifest.secrets import Secrets
from logpersister_operator.act.departures import Departures
from logpersister_operator.observe.lag import GroupLag
from logpersister_operator.observe.lag_connection import LagConnection
from logpersister_operator.observed_state import KnownLag, UnknownLag
from tests.integration.harness.waiting import eventually
from tests.stack import KafkaBroker
from tests.unit.kubernetes.samples import by_reference, departed, observed, pod

NAME = "clicks-backup"
REVISION = "0a1b2c3d4e5f"
ONE_STAYS, GOES, A_STRANGER = f"{NAME}-{REVISION}-0", f"{NAME}-{REVISION}-1", "clicks-copy-0a1b2c3d4e5f-1"

Join = Callable[[str], Membership]


@pytest.fixture
def resource(kafka: KafkaBroker, topic: Callable[..., str], unique: str) -> dict[str, Any]:
    return {
        "apiVersion": "logpersister.dev/v1alpha1",
        "kind": "LogPersister",
        "metadata": {"name": NAME, "namespace": "logs", "uid": "1", "generation": 1},
        "spec": {
            "kafka": {"bootstrapServers": kafka.bootstrap, "topics": [topic(6)], "groupId": unique},
            "storage": {"bucket": "logs"},
        },
    }


@pytest.fixture
def join(kafka: KafkaBroker, resource: dict[str, Any]) -> Iterator[Join]:
    spec = resource["spec"]["kafka"]
    with ExitStack() as stack:

        def start(name: str) -> Membership:
            settings = MembershipSettings(
                spec["groupId"], tuple(spec["topics"]), instance_id=name, session_timeout_seconds=1200.0
            )
            member = Membership({"bootstrap_servers": kafka.bootstrap}, settings)
            stack.callback(member.stop)
            member.start()
            return member

        yield start


def test_partitions_of_a_member_that_left_for_good_move_at_once(resource: dict[str, Any], join: Join) -> None:
    stays, goes, stranger = (join(name) for name in (ONE_STAYS, GOES, A_STRANGER))
    members = (stays, goes, stranger)
    eventually("two each", lambda: [len(one.ownership()) for one in members] == [2, 2, 2])
    goes.stop()  # it keeps its place: it might come back
    manifest, secrets = parse(resource), Secrets()
    group, connection = GroupLag(manifest, secrets), LagConnection()

    def ask() -> KnownLag | UnknownLag:
        return connection.ask([group])[0]

    one_member = {"spec": {"replicas": 1}, "kind": "StatefulSet", "metadata": {
        "name": f"{NAME}-{REVISION}", "labels": {"logpersister.dev/revision": REVISION}}}  # fmt: skip
    children = by_reference([one_member, pod(ONE_STAYS)])
    seen = observed(resource, children=children, names=frozenset({ONE_STAYS, GOES}))

    gone = departed(replace(seen, lag=ask()))
    departures = Departures(1)
    departures.begin(seen.key, manifest, secrets, gone)

    assert gone == (GOES,)
    eventually("its partitions are shared out", lambda: len(stays.ownership()) == 3, explain=ask)
    eventually("also to who is none of ours", lambda: len(stranger.ownership()) == 3, explain=ask)
    eventually("it is forgotten", lambda: departed(replace(seen, lag=ask())) == ())
    departures.close()
    connection.close()
