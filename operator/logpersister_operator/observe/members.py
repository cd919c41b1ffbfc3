"""What members say of themselves."""

import json
from collections.abc import Mapping
from typing import Any, Final

import urllib3

from logpersister_operator.cluster.kinds import Document
from logpersister_operator.observed import MemberReport
from logpersister_operator.render.network import HTTP_PORT

SECONDS: Final = 3.0
LARGEST: Final = 1 << 20
"""Bytes of a report; it is bounded to some 50 kB."""


class MemberReader:
    """Asks members for ``/status``."""

    def __init__(self, port: int = HTTP_PORT) -> None:
        self._port = port
        self._pool = urllib3.PoolManager(
            num_pools=64, retries=False, timeout=urllib3.Timeout(connect=SECONDS, read=SECONDS)
        )

    def ask(self, pods: Mapping[str, Document]) -> dict[str, MemberReport]:
        """Return the report of each pod that can have one, by its name."""
        return {name: self._ask(pod) for name, pod in pods.items()}

    def _ask(self, pod: Document) -> MemberReport:
        address = (pod.get("status") or {}).get("podIP")
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
            return MemberReport(None, f"{type(error).__name__}: {error}")
        if answer.status != 200 or not isinstance(document, dict):
            return MemberReport(None, f"HTTP status {answer.status}")
        return MemberReport(document)
