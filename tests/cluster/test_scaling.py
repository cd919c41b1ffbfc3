"""Members that restart, and fewer and more of them: what keeps its place, and how long what moves stands still."""

from collections.abc import Iterator

import pytest

from tests.cluster.conftest import PARTITIONS, MakePersister, unharmed
from tests.cluster.persister import Persister, ready
from tests.cluster.service import Service
from tests.integration.harness.workload import Workload
from tests.stack import KafkaBroker

TOPIC = "scaling"
_MEMBERS = 3
_LONGEST_SECONDS = 60.0
"""That a partition stands still, on however slow a machine; half of the session time-out, for which none may wait."""


@pytest.fixture(scope="module")
def _resource(make_persister: MakePersister, kafka: KafkaBroker) -> Persister:
    section = {"bootstrapServers": kafka.bootstrap, "topics": [TOPIC], "sessionTimeout": "2m"}
    return make_persister("scaling", TOPIC, members=_MEMBERS, kafka=section)


@pytest.fixture
def persister(_resource: Persister, workload: Workload) -> Iterator[Persister]:
    """The resource under load, well before the test and after it."""
    with unharmed(_resource), workload.running(TOPIC, PARTITIONS, per_second=50):
        yield _resource


def test_members_that_restart_in_time_move_nothing(persister: Persister) -> None:
    persister.wait_shared(_MEMBERS, len(PARTITIONS))
    before = _group_generations(persister)
    first, *others = sorted(persister.pods())
    for names in ([first], others):  # one of them leads the group
        old = {uid for name, uid in _ready(persister).items() if name in names}
        persister.kubectl("delete", "pods", *names, "--wait=false")  # it may miss that one of the same name is another
        persister.eventually("they are back", lambda old=old: len(set(_ready(persister).values()) - old) == _MEMBERS)  # type: ignore[misc]
    persister.eventually("they have joined", lambda: None not in _group_generations(persister))
    assert _group_generations(persister) == before


@pytest.mark.alone
def test_partitions_stand_still_for_seconds_when_members_go_and_come(persister: Persister, kafka: KafkaBroker) -> None:
    with Service(kafka.bootstrap, persister.name, TOPIC) as service:
        for members in (1, _MEMBERS):
            persister.apply(members=members)
            persister.wait_shared(members, len(PARTITIONS))
        service.wait_moved()
    assert service.longest < _LONGEST_SECONDS, f"{service.gaps}, {service.gap}"


def _ready(persister: Persister) -> dict[str, str]:
    """Return the members that are ready, and the uid of each one's pod."""
    return {name: pod["metadata"]["uid"] for name, pod in persister.pods().items() if ready(pod)}


def _group_generations(persister: Persister) -> set[int | None]:
    """Return how often Kafka has shared out the partitions, as each member knows it; None before it has joined."""
    return {persister.member_status(name)["rebalance"]["groupGeneration"] for name in persister.pods()}
