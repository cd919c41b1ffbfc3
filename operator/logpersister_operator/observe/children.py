"""The children of all resources, by watches that the API server filters by our label."""

import itertools
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, Final

import structlog
from kubernetes import client
from kubernetes.informer import ADDED, DELETED, ERROR, MODIFIED, SharedInformer

from logpersister.backoff import Backoff
from logpersister_operator.cluster.kinds import Document, Kind, Reference, kind_of
from logpersister_operator.observed_state import ResourceKey
from logpersister_operator.render.application import RESOURCE_LABEL

log = structlog.get_logger(__name__)

RESYNC_SECONDS: Final = 300
"""How often everything is listed anew: what a watch has missed is known after that."""
READ_MARGIN_SECONDS: Final = 30
_OK: Final = 200
_BACKOFF: Final = Backoff(2.0, 30.0)
"""Between attempts to list or watch while the API server is away."""


class NotListedError(Exception):
    """Not everything that is there has been seen yet: what is not known may well exist."""


class Children:
    """What is known of the children, and who is notified when one changes. Thread-safe."""

    def __init__(self, on_change: Callable[[ResourceKey], None]) -> None:
        self._on_change = on_change
        self._known: dict[ResourceKey, dict[Reference, Document]] = {}
        self._lock = threading.Lock()
        self._listed = False

    @property
    def listed(self) -> bool:
        """Whether everything was seen once, so that what is not known is not there."""
        return self._listed

    def complete(self) -> None:
        """Take in that the first lists are complete."""
        self._listed = True

    def of(self, key: ResourceKey) -> Mapping[Reference, Document]:
        """Return the children of a resource as they are known now; raises NotListedError before all were listed."""
        if not self._listed:
            raise NotListedError(f"{key}: not all objects are listed yet")
        with self._lock:
            return dict(self._known.get(key, {}))

    def seen(self, child: Document) -> None:
        """Take in a child as it is now; what is older than what is known counts for nothing."""
        key, reference = _key_of(child), Reference.of(child)
        with self._lock:
            ours = self._known.setdefault(key, {})
            known = ours.get(reference)
            if known is not None and _version(known) >= _version(child):
                return
            ours[reference] = _without_managers(child)
        self._on_change(key)

    def gone(self, child: Document) -> None:
        """Take in that a child does not exist any more."""
        key, reference = _key_of(child), Reference.of(child)
        with self._lock:
            known = self._known.get(key, {}).get(reference)
            if known is None or known["metadata"]["uid"] != child["metadata"]["uid"]:
                return
            del self._known[key][reference]
            if not self._known[key]:
                del self._known[key]
        self._on_change(key)


class Watches:
    """Feeds `Children` from the API server."""

    def __init__(
        self, api: client.ApiClient, children: Children, namespaces: Sequence[str], resync_seconds: int = RESYNC_SECONDS
    ) -> None:
        """Prepare watches of all namespaces, or of those that are named."""
        self._api = api
        self._children = children
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        places = [
            (kind_of(name), method, namespace)
            for name, method in self._lists(by_namespace=bool(namespaces)).items()
            for namespace in (namespaces or (None,))
        ]
        self._unlisted = {(kind.name, namespace) for kind, _, namespace in places}
        self._informers = [self._informer(*place, resync_seconds) for place in places]

    def start(self) -> None:
        for informer in self._informers:
            informer.start()

    def stop(self) -> None:
        """Ask all watches to end, without waiting for their last answer."""
        self._stopped.set()
        for informer in self._informers:
            threading.Thread(target=informer.stop, daemon=True).start()

    def _lists(self, *, by_namespace: bool) -> dict[str, Callable[..., Any]]:
        apis = (
            client.CoreV1Api(self._api),
            client.AppsV1Api(self._api),
            client.NetworkingV1Api(self._api),
            client.PolicyV1Api(self._api),
            client.RbacAuthorizationV1Api(self._api),
        )
        nouns = {
            "ConfigMap": "config_map",
            "NetworkPolicy": "network_policy",
            "Pod": "pod",
            "PodDisruptionBudget": "pod_disruption_budget",
            "Role": "role",
            "RoleBinding": "role_binding",
            "Service": "service",
            "ServiceAccount": "service_account",
            "StatefulSet": "stateful_set",
        }
        pattern = "list_namespaced_{}" if by_namespace else "list_{}_for_all_namespaces"
        methods = {name: pattern.format(noun) for name, noun in nouns.items()}
        return {
            name: next(getattr(api, method) for api in apis if hasattr(api, method)) for name, method in methods.items()
        }

    def _informer(self, kind: Kind, method: Callable[..., Any], namespace: str | None, resync: int) -> SharedInformer:
        failures = itertools.count(1)

        def ask(**options: Any) -> Any:
            """List or watch, as documents: the classes of the client library would need several times the memory.

            :rtype: object
            """
            nonlocal failures
            is_watch = bool(options.get("watch"))
            if is_watch:  # which is asked for when everything was listed, and all handlers were called
                self._note_listed(kind, namespace)
            limits = {"_preload_content": False, "_request_timeout": resync + READ_MARGIN_SECONDS}
            try:
                answer = method(**(options | limits))
                found = answer if is_watch else _listed(answer)
            except Exception:
                self._pause(next(failures))
                raise
            if getattr(answer, "status", _OK) == _OK:
                failures = itertools.count(1)
            else:  # a watch that is refused: the informer finds out for itself
                self._pause(next(failures))
            return found

        informer = SharedInformer(ask, namespace=namespace, label_selector=RESOURCE_LABEL, resync_period=resync)
        for event in (ADDED, MODIFIED):
            informer.add_event_handler(event, lambda found: self._children.seen(_document(kind, found)))
        informer.add_event_handler(
            ERROR, lambda error: log.warning("watch.interrupted", kind=kind.name, error=str(error)[:500])
        )
        informer.add_event_handler(DELETED, lambda found: self._children.gone(_document(kind, found)))
        return informer

    def _pause(self, failures: int) -> None:
        """Wait before an informer, which would do so at once, asks again."""
        self._stopped.wait(_BACKOFF.pause(failures))

    def _note_listed(self, kind: Kind, namespace: str | None) -> None:
        with self._lock:
            if not self._unlisted:
                return
            self._unlisted.discard((kind.name, namespace))
            if self._unlisted:
                return
        self._children.complete()
        log.info("children.listed")


def _listed(answer: Any) -> SimpleNamespace:
    """Return what a list holds; raises ApiException when it is refused."""
    content = answer.data
    if answer.status != _OK:
        raise client.ApiException(http_resp=answer)
    found = json.loads(content)
    version = found["metadata"]["resourceVersion"]
    return SimpleNamespace(items=found["items"], metadata=SimpleNamespace(resource_version=version))


def _document(kind: Kind, found: dict[str, Any]) -> Document:
    """Complete an item of a list, which has no kind, in its place: the informer keeps it too, and one is enough."""
    found |= {"apiVersion": kind.api_version, "kind": kind.name}
    found["metadata"].pop("managedFields", None)
    return found


def _without_managers(child: Document) -> Document:
    """Leave out who has set which field: nobody asks, and it is as large as all the rest."""
    if "managedFields" not in child["metadata"]:
        return child
    return {**child, "metadata": {name: one for name, one in child["metadata"].items() if name != "managedFields"}}


def _key_of(child: Document) -> ResourceKey:
    metadata = child["metadata"]
    return ResourceKey(metadata["namespace"], metadata["labels"][RESOURCE_LABEL])


def _version(child: Document) -> int:
    """Return the resource version as a number: the API server lets one compare those of one kind since 1.35."""
    return int(child["metadata"]["resourceVersion"])
