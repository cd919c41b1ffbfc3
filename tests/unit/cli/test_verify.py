import io
from unittest.mock import Mock

import pytest

from logpersister.cli.exits import Exit
from logpersister.cli.verify import _verified, exit_code, show
from logpersister.ranges import TopicPartition
from logpersister.registry import RegistryError
from logpersister.verify.findings import Finding, Kind
from logpersister.verify.verification import TopicResult

CLICKS = TopicPartition("clicks", 3)
PROBLEM = Finding(Kind.MISSING, CLICKS, 100, 200, "nobody has them", generation=1)
NOTE = Finding(Kind.NO_RECORD, CLICKS, 300, 301, "nothing was there", generation=1)


def result(*findings: Finding, errors: tuple[str, ...] = ()) -> TopicResult:
    return TopicResult("clicks", 4, 1_234, 5 << 20, 99_999, findings=[*findings], errors=[*errors])


@pytest.mark.parametrize(
    ("results", "code"),
    [
        ([], Exit.OK),
        ([result(NOTE)], Exit.OK),
        ([result(), result(errors=("no leader",))], Exit.UNREACHABLE),
        ([result(PROBLEM), result(errors=("no leader",))], Exit.BROKEN),
    ],
)
def test_exit_codes(results: list[TopicResult], code: Exit) -> None:
    assert exit_code(results) == code


def test_a_registry_that_does_not_answer_about_a_topic_ends_no_verification_of_another() -> None:
    verification = Mock(topic=Mock(side_effect=RegistryError("timeout", "it did not answer in time")))
    found = _verified(verification, "clicks", 4, 1.0, Mock())
    assert (found.topic, found.errors) == ("clicks", ["it did not answer in time"])


NO_PROBLEM = "group backup: no problem; every stored offset is in one object, or explained"
PROMISED = "promised, not committed yet; see whether a member runs (logpersister lag)"


@pytest.mark.parametrize(
    ("objects", "pending", "verdict"),
    [
        (9, 0, [NO_PROBLEM]),
        (9, 1, [NO_PROBLEM, f"not verified: 1 offset {PROMISED}"]),
        (0, 1200, [f"group backup: no problem, but nothing is stored yet: 1,200 offsets {PROMISED}"]),
    ],
)
def test_what_is_only_promised_is_no_proof(objects: int, pending: int, verdict: list[str]) -> None:
    out = io.StringIO()
    show("backup", [TopicResult("clicks", 4, objects, begun=1, pending=pending)], out)
    assert list(filter(None, out.getvalue().splitlines()[2:])) == verdict
