"""The cluster by kubectl, and what is looked at again and again by the operator's way to the API server.

A process of kubectl for each look would take a tenth of two cores. Both know whatever way of logging in a kubeconfig
names.
"""

import json
import subprocess
from collections.abc import Mapping
from functools import cache
from http import HTTPStatus
from typing import Any, Final

from logpersister_operator.cluster.access import find_access
from logpersister_operator.cluster.connection import ClusterError, Connection
from logpersister_operator.cluster.kinds import JOB, POD, RESOURCES, STATEFUL_SET
from tests.cluster.environment import PATIENCE_SECONDS
from tests.stack.artifacts import go_program

Document = dict[str, Any]

_SECONDS = PATIENCE_SECONDS + 60
"""Some commands wait for what they have begun."""
_LOOKED_AT: Final = {
    name: kind for kind in (*RESOURCES, JOB, POD, STATEFUL_SET) for name in (kind.name.lower(), kind.plural)
}
_LOOK_SECONDS = 60


class KubectlError(Exception):
    """kubectl ended with an error; the message is what it printed."""


@cache
def _connection() -> Connection:
    return Connection(find_access())


class Kubectl:
    """kubectl in one namespace, with the kubeconfig of the environment."""

    def __init__(self, namespace: str) -> None:
        self.namespace = namespace

    def __call__(self, *arguments: str, stdin: str | None = None, seconds: float = _SECONDS) -> str:
        """Run a command and return what it printed; raise `KubectlError` when it fails."""
        done = subprocess.run(
            [str(go_program("kubectl")), "--namespace", self.namespace, *arguments],
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
        if done.returncode != 0:
            raise KubectlError(f"kubectl {' '.join(arguments)}: {done.stderr}{done.stdout}")
        return done.stdout

    def apply(self, *documents: Mapping[str, Any]) -> None:
        """Apply documents by server-side apply."""
        items = {"apiVersion": "v1", "kind": "List", "items": documents}
        self("apply", "--server-side", "--force-conflicts", "--filename", "-", stdin=json.dumps(items))

    def get(self, kind: str, name: str) -> Document | None:
        """Return an object; None when there is none."""
        return _look(_LOOKED_AT[kind.lower()].path(self.namespace, name))

    def list(self, kind: str, selector: str = "") -> list[Document]:
        """Return the objects of a kind that labels select."""
        if kind in _LOOKED_AT:
            found = _look(_LOOKED_AT[kind].path(self.namespace), labelSelector=selector)
            if found is None:
                raise KubectlError(f"there are no {kind}: their kind is not defined")
        else:
            found = json.loads(self("get", kind, "--selector", selector, "--output", "json"))
        items: list[Document] = found["items"]
        return items

    def delete(self, kind: str, name: str, *options: str) -> None:
        """Delete an object and wait until it is gone, unless ``options`` say otherwise."""
        self("delete", kind, name, *options)


def _look(path: str, **query: str) -> Document | None:
    try:
        return _connection().request("GET", path, query=query, seconds=_LOOK_SECONDS)
    except ClusterError as error:
        if error.status == HTTPStatus.NOT_FOUND:
            return None
        raise KubectlError(str(error)) from error
