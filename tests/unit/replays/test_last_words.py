"""What a process said when it ended."""

import pytest

from logpersister_operator.observed_objects import Pod, view
from logpersister_operator.replays.last_words import last_words

INFO = '{"event":"member.stopped","level":"info","exit_code":4}'
HELD = '{"event":"partition.not_current","level":"error","partition":"t-0","reason":"data-lost","timestamp":"x"}'


def pod(
    message: str, code: int = 1, *, name: str = "member", reason: str = "Error", at: str = "2026-11-21T12:00:00Z"
) -> Pod:
    ended = {"exitCode": code, "reason": reason, "message": message, "finishedAt": at}
    status = {"containerStatuses": [{"name": name, "state": {"terminated": ended}}]}
    found = view({"kind": "Pod", "metadata": {"name": "p"}, "status": status})
    assert isinstance(found, Pod)
    return found


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (f"{INFO}\nspec.table: is refused\n", ": spec.table: is refused"),
        (f"{HELD}\n{HELD}\n{INFO}", ": partition.not_current partition t-0, reason data-lost"),
        ('{"event":"member.failed","level":"error","message":"Spark has ended"}', ": member.failed Spark has ended"),
        ("Traceback\n  x\nValueError: no\n" + INFO, ": ValueError: no"),
        ("", "; see its log"),
        ("[1]", ": [1]"),
    ],
)
def test_the_reason_is_found(message: str, said: str) -> None:
    assert last_words([pod(message)]) == f"exit code 1{said}"


def test_the_last_failure_of_our_own_container_counts() -> None:
    early = pod("early", 3, at="2026-11-21T11:00:00Z")
    late = pod("late", 137, reason="OOMKilled")
    assert last_words([late, early, pod("x", 0), pod("y", 1, name="sidecar")]) == "exit code 137, OOMKilled: late"
    assert last_words([pod("x", 0)]) == ""
