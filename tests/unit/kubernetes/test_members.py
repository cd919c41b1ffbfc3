"""Asking members how they are, when some of them do not answer."""

import socket
from collections.abc import Iterator

import pytest

from logpersister_operator.observe import members
from logpersister_operator.observe.members import MemberReader
from logpersister_operator.observed_objects import Pod
from tests.stack.http_server import serving
from tests.stack.ports import LOOPBACK

HANGS = "127.0.0.2"
NOBODY = "127.0.0.3"


@pytest.fixture
def port() -> Iterator[int]:
    """A port on which one address answers, and another one takes connections and says nothing."""
    with serving(lambda _: (200, b'{"state": "running"}')) as url:
        port = int(url.rpartition(":")[2])
        with socket.create_server((HANGS, port)):
            yield port


def at(address: str) -> Pod:
    return Pod(kind="Pod", namespace="logs", name="member-0", address=address)


def test_those_that_hang_hide_no_answer_of_others(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(members, "ALL_SECONDS", 0.5)
    reader = MemberReader(port)
    pods = {f"hangs-{number}": at(HANGS) for number in range(2)} | {"new": at(""), "well": at(LOOPBACK)}
    pods["starts"] = at(NOBODY)
    reports = reader.ask(pods)
    reader.close()
    assert reports["well"].document == {"state": "running"}
    assert reports["new"].error == "the pod has no address yet"
    refused = f"it takes no connections at port {port} (Connection refused): it starts, or has ended"
    assert reports["starts"].error == refused
    assert {reports[f"hangs-{number}"].error for number in range(2)} == {"it did not answer in time"}
