"""What members say of themselves."""

import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from datetime import datetime
from typing import Any, Final

import urllib3

from logpersister_operator.observed_objects import Pod
from logpersister_operator.observed_state import MemberReport
from logpersister_operator.render.network import HTTP_PORT

SECONDS: Final = 3.0
"""Deadline for a member to take the connection, and to answer."""
ALL_SECONDS: Final = 10.0
"""Deadline for all members of a resource, however many there are."""
THREADS: Final = 64
LARGEST: Final = 1 << 20
"""Bytes of a report; it is bounded to some 50 kB."""


class MemberReader:
    """Asks members for ``/status``."""

    def __init__(self, port: int = HTTP_PORT) -> None:
        self._port = port
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="member")
        self._pool = urllib3.PoolManager(
            num_pools=THREADS, retries=False, timeout=urllib3.Timeout(connect=SECONDS, read=SECONDS)
        )

    def ask(self, pods: Mapping[str, Pod]) -> dict[str, MemberReport]:
        """Ask all pods at once; return their reports by name."""
        asked = {name: self._threads.submit(self._ask, pod) for name, pod in pods.items()}
        wait(asked.values(), timeout=ALL_SECONDS)
        late = MemberReport(None, "it did not answer in time")
        return {
            name: late if answer.cancel() or not answer.done() else answer.result() for name, answer in asked.items()
        }

    def close(self) -> None:
        """Ask nobody any more, without waiting for answers."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _ask(self, pod: Pod) -> MemberReport:
        address = pod.address
        if not address:
            return MemberReport(None, "the pod has no address yet")
        host = f"[{address}]" if ":" in address else address
        try:
            answer = self._pool.request("GET", f"http://{host}:{self._port}/status", preload_content=False)
            try:
                content = answer.read(LARGEST)
            finally:
                answer.release_conn()
            document: Any = json.loads(content)
        except (urllib3.exceptions.HTTPError, OSError, ValueError) as error:
            return MemberReport(None, self._in_words(error))
        if answer.status != 200 or not isinstance(document, dict):
            return MemberReport(None, f"HTTP status {answer.status}")
        return MemberReport(document)

    def _in_words(self, error: Exception) -> str:
        match error:
            case urllib3.exceptions.NewConnectionError():
                cause = error.__cause__ if isinstance(error.__cause__, OSError) else None
                why = (None if cause is None else cause.strerror) or "no connection"
                return f"it takes no connections at port {self._port} ({why}): it starts, or has ended"
            case urllib3.exceptions.TimeoutError():
                return f"it did not answer at port {self._port} within {SECONDS:.0f} s"
            case ValueError():
                return f"its answer at port {self._port} is not a status"
            case _:
                return f"the connection to port {self._port} ended: {error}"


class UnansweredSince:
    """Since when members have not answered. Pure, except for its memory."""

    def __init__(self) -> None:
        self._since: dict[str, datetime] = {}

    def observe(self, reports: Mapping[str, MemberReport], now: datetime) -> Mapping[str, datetime]:
        """Take in what members said last; return since when those are silent that said nothing."""
        silent = (name for name, report in reports.items() if report.document is None)
        self._since = {name: self._since.get(name, now) for name in silent}
        return dict(self._since)
