"""Lets go of all resources, so that none waits for an operator that is about to be uninstalled.

``python -m logpersister_operator.release`` stops the operator's Deployment, waits until its pods are gone, and takes
our finalizer off every resource of ours. Resources, their pods and their data stay. Helm runs it before it deletes
anything (templates/release.yaml of the chart).
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import structlog

from logpersister.report import logs
from logpersister_operator.cluster.access import AccessError, find_access
from logpersister_operator.cluster.client import ApiServer
from logpersister_operator.cluster.connection import ClusterError, Connection
from logpersister_operator.cluster.kinds import DEPLOYMENT, POD, RESOURCES, Document, Kind
from logpersister_operator.observe.namespaces import matching
from logpersister_operator.supervision import FINALIZER

log = structlog.get_logger(__name__)

LOOK_SECONDS: Final = 1.0
_CONFLICT, _NOT_FOUND = 409, 404
_BY_HAND: Final = (
    "kubectl patch KIND NAME --namespace NAMESPACE --type json "
    """--patch '[{"op": "remove", "path": "/metadata/finalizers"}]'"""
)


class TimeUpError(Exception):
    """The release took longer than allowed; the message says what is left."""


@dataclass(frozen=True, slots=True)
class Target:
    """What is let go of."""

    namespace: str
    """Namespace of the operator."""
    deployment: str
    selector: str
    """Labels of the operator's pods."""
    resources: str = ""
    """Labels of the resources that the operator looks after; all when empty."""
    namespaces: Sequence[str] = ()
    """Where resources are; all namespaces when empty."""
    namespace_selector: str = ""
    """Labels of the namespaces where resources are, in place of their names."""
    seconds: float = 120.0
    """How long it may take."""


class Release:
    """One run. Every step may be repeated."""

    def __init__(
        self,
        cluster: ApiServer,
        target: Target,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._cluster = cluster
        self._target = target
        self._clock = clock
        self._sleep = sleep
        self._deadline = clock() + target.seconds

    def run(self) -> int:
        """Do everything; return how many resources had our finalizer. Raises TimeUpError."""
        self._stubbornly("the operator could not be stopped", self._stop_operator)
        self._stubbornly("the operator's pods are still there", self._operator_is_gone)
        released = 0

        def release() -> bool:
            nonlocal released
            found = ((kind, one) for kind in RESOURCES for one in self._found(kind))
            held = [(kind, one) for kind, one in found if FINALIZER in one["metadata"].get("finalizers", [])]
            released += sum([self._let_go(kind, one) for kind, one in held])
            return not held

        self._stubbornly("there are still resources with our finalizer", release)
        return released

    def _stubbornly(self, failure: str, step: Callable[[], bool]) -> None:
        while True:
            error = ""
            try:
                if step():
                    return
            except ClusterError as caught:
                error = str(caught)
                log.warning("release.retried", step=step.__name__.strip("_"), error=error)
            if self._clock() >= self._deadline:
                raise TimeUpError(f"{failure}: {error}" if error else failure)
            self._sleep(LOOK_SECONDS)

    def _stop_operator(self) -> bool:
        target = self._target
        try:
            self._cluster.patch(DEPLOYMENT, target.namespace, target.deployment, {"spec": {"replicas": 0}}, "scale")
        except ClusterError as error:
            if error.status != _NOT_FOUND:
                raise
        return True

    def _operator_is_gone(self) -> bool:
        pages = self._cluster.pages(POD, self._target.namespace, labels=self._target.selector)
        return not any(page["items"] for page in pages)

    def _found(self, kind: Kind) -> Iterator[Document]:
        """Yield every resource of a kind; none when the API server does not know the kind any more."""
        selector = self._target.namespace_selector
        ours = matching(self._cluster, selector) if selector else None
        for namespace in self._target.namespaces or (None,):
            try:
                for page in self._cluster.pages(kind, namespace, labels=self._target.resources):
                    yield from (one for one in page["items"] if ours is None or one["metadata"]["namespace"] in ours)
            except ClusterError as error:
                if error.status != _NOT_FOUND:
                    raise

    def _let_go(self, kind: Kind, resource: Document) -> bool:
        """Take our finalizer off a resource; return False when it has changed meanwhile and must be looked at again."""
        metadata = resource["metadata"]
        kept = [one for one in metadata["finalizers"] if one != FINALIZER]
        change = {"metadata": {"finalizers": kept, "resourceVersion": metadata["resourceVersion"]}}
        try:
            self._cluster.patch(kind, metadata["namespace"], metadata["name"], change)
        except ClusterError as error:
            if error.status in (_CONFLICT, _NOT_FOUND):
                return False
            raise
        log.info("resource.released", resource=f"{metadata['namespace']}/{metadata['name']}")
        return True


def _names(text: str) -> tuple[str, ...]:
    return tuple(part for part in text.split(",") if part)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run once; the exit code is 1 when the time is up."""
    parser = argparse.ArgumentParser(prog="logpersister_operator.release", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--namespace", required=True, help="of the operator")
    parser.add_argument("--deployment", required=True, help="of the operator")
    parser.add_argument("--selector", required=True, help="labels of the operator's pods: NAME=VALUE,...")
    parser.add_argument("--resources", default="", help="labels of resources to let go of (default: all)")
    parser.add_argument(
        "--namespaces", default="", type=_names, help="of resources, separated by commas (default: all)"
    )
    parser.add_argument("--namespace-selector", default="", help="labels of their namespaces, in place of names")
    parser.add_argument("--seconds", type=float, default=120.0, help="how long it may take (default: %(default)s)")
    target = Target(**vars(parser.parse_args(arguments)))
    logs.configure("json", "info")
    try:
        released = Release(ApiServer(Connection(find_access())), target).run()
    except AccessError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except TimeUpError as error:
        sys.stderr.write(f"not within {target.seconds:.0f} s: {error}\nBy hand, for each resource: {_BY_HAND}\n")
        return 1
    log.info("release.done", released=released)
    return 0


if __name__ == "__main__":
    sys.exit(main())
