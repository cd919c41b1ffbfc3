"""What the API server was asked, by whom, and what it answered: its audit log."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.chart.rights import Right


@dataclass(frozen=True, slots=True)
class Request:
    """One request about a resource."""

    right: Right
    namespace: str
    code: int

    @property
    def forbidden(self) -> bool:
        return self.code in (401, 403)


class Audit:
    """Makes the API server write, and reads."""

    def __init__(self, directory: Path) -> None:
        self._log = directory / "audit.log"
        self._policy = directory / "policy.json"
        policy: dict[str, Any] = {
            "apiVersion": "audit.k8s.io/v1",
            "kind": "Policy",
            "rules": [{"level": "Metadata"}],
            "omitStages": ["RequestReceived"],
        }
        self._policy.write_text(json.dumps(policy))

    @property
    def flags(self) -> list[str]:
        """What kube-apiserver is started with."""
        return [f"--audit-policy-file={self._policy}", f"--audit-log-path={self._log}"]

    def requests(self, user: str) -> Iterator[Request]:
        """Yield what a user has asked so far, but for discovery, which names no resource."""
        for line in self._log.read_text().splitlines():
            event = json.loads(line)
            about = event.get("objectRef")
            if event["user"]["username"] == user and about:
                resource = "/".join(filter(None, [about["resource"], about.get("subresource")]))
                right = (about.get("apiGroup", ""), resource, event["verb"])
                yield Request(right, about.get("namespace", ""), event["responseStatus"]["code"])
