import threading
import time

import pytest

from logpersister.cli import brokers
from logpersister.cli.brokers import Call
from logpersister.cli.exits import UnreachableError


def test_an_overdue_call_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(brokers, "GRACE_SECONDS", 0.05)
    never = threading.Event()
    started = time.monotonic()
    with pytest.raises(UnreachableError, match=r"broker-1:9092: no answer within 0.05 s; check the address"):
        Call("broker-1:9092", 0.05, never.wait).result()
    never.set()
    assert time.monotonic() - started < 2
