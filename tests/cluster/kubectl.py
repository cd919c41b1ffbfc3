"""The cluster by kubectl: whatever way of logging in a kubeconfig names, kubectl knows it."""

import json
import subprocess
from collections.abc import Mapping
from typing import Any

from tests.cluster.environment import PATIENCE_SECONDS
from tests.stack.artifacts import go_program

Document = dict[str, Any]

_SECONDS = PATIENCE_SECONDS + 60
"""Some commands wait for what they have begun."""


class KubectlError(Exception):
    """kubectl ended with an error; the message is what it printed."""

    @property
    def not_found(self) -> bool:
        return "(NotFound)" in str(self)


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
        try:
            found: Document = json.loads(self("get", kind, name, "--output", "json"))
        except KubectlError as error:
            if error.not_found:
                return None
            raise
        return found

    def list(self, kind: str, selector: str = "") -> list[Document]:
        """Return the objects of a kind that labels select."""
        found: list[Document] = json.loads(self("get", kind, "--selector", selector, "--output", "json"))["items"]
        return found

    def delete(self, kind: str, name: str, *options: str) -> None:
        """Delete an object and wait until it is gone, unless ``options`` say otherwise."""
        self("delete", kind, name, *options)
