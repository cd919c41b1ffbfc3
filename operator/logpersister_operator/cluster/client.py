"""Requests to the API server, each with a deadline. Objects are plain documents, as `kopf` gives them too."""

from collections.abc import Callable, Iterator
from typing import Any, Final, Protocol

from logpersister_operator.cluster.connection import ClusterError, Connection
from logpersister_operator.cluster.kinds import EVENT, Document, Kind, kind_of

FIELD_MANAGER: Final = "logpersister-operator"
"""Owner of every field that we set, in ``metadata.managedFields``."""
REQUEST_SECONDS: Final = 10.0

_OF_NONE: Final = "1"
"""A resource version that no object has: an apply with it makes an object, and changes none that is there."""
_APPLY: Final = "application/apply-patch+yaml"
_MERGE: Final = "application/merge-patch+json"
PAGE: Final = 200
"""Objects of one answer to a list."""


class Cluster(Protocol):
    """What the operator asks of the API server. Every method raises ClusterError."""

    def get(self, kind: Kind, namespace: str, name: str) -> Document | None: ...

    def find(self, kind: Kind, namespace: str, name: str) -> Document | None: ...

    def apply(self, document: Document, uid: str | None = None) -> Document: ...

    def apply_status(self, document: Document) -> Document: ...

    def scale(self, child: Document) -> Document: ...

    def create(self, document: Document) -> Document: ...

    def replace(self, document: Document) -> Document: ...

    def delete(
        self, kind: Kind, namespace: str, name: str, *, uid: str | None = None, at_once: bool = False
    ) -> None: ...

    def post_event(self, document: Document) -> None: ...

    def events(self, namespace: str, uid: str) -> list[Document]: ...


class ApiServer:
    """The real one."""

    def __init__(
        self,
        connection: Connection,
        request_seconds: float = REQUEST_SECONDS,
        before_write: Callable[[], None] = lambda: None,
    ) -> None:
        """Send requests with a deadline; ``before_write`` may prevent a write."""
        self._connection = connection
        self._seconds = request_seconds
        self._before_write = before_write

    def get(self, kind: Kind, namespace: str, name: str) -> Document | None:
        """Return an object, or None when it does not exist."""
        try:
            return self._request("GET", kind.path(namespace, name))
        except ClusterError as error:
            if error.status == 404:
                return None
            raise

    def find(self, kind: Kind, namespace: str, name: str) -> Document | None:
        """Return an object, or None when it does not exist, by the right to list."""
        answer = self._request("GET", kind.path(namespace), query={"fieldSelector": f"metadata.name={name}"})
        found = next(iter(answer["items"]), None)
        return None if found is None else {**found, "apiVersion": kind.api_version, "kind": kind.name}

    def pages(
        self, kind: Kind, namespace: str | None = None, *, labels: str = "", size: int = PAGE
    ) -> Iterator[Document]:
        """Yield all objects of a kind in answers of bounded size, from all namespaces unless one is named.

        An answer is a list as the API server gives it: its items name no kind. ``labels`` is a selector.
        """
        query = {"limit": str(size)} | ({"labelSelector": labels} if labels else {})
        while True:
            answer = self._request("GET", kind.path(namespace), query=query)
            yield answer
            following = answer["metadata"].get("continue")
            if not following:
                return
            query["continue"] = following

    def patch(
        self, kind: Kind, namespace: str, name: str, change: Document, subresource: str | None = None
    ) -> Document:
        """Merge a change into an object; status 409 when it names another resource version than there is."""
        return self._request("PATCH", kind.path(namespace, name, subresource), change, content_type=_MERGE)

    def apply(self, document: Document, uid: str | None = None) -> Document:
        """Apply on the server: fields that we no longer name go away, fields of others stay; return what is there now.

        Conflicts are forced: what we declare is ours, and drift is repaired. So it must be known whose object it is.

        Args:
            uid: of the object that is changed, that very one; None when there must not be one of that name yet. Status
                409 when it is otherwise.
        """
        only = {"resourceVersion": _OF_NONE} if uid is None else {"uid": uid}
        try:
            return self._apply({**document, "metadata": document["metadata"] | only})
        except ClusterError as error:
            if uid is not None and error.status == 422 and "metadata.uid" in str(error):  # another one by now
                raise ClusterError(str(error), 409) from error
            raise

    def apply_status(self, document: Document) -> Document:
        """Apply the status of an object alone."""
        return self._apply(document, "status")

    def scale(self, child: Document) -> Document:
        """Merge the fields of the spec that are here into an object, that very one; return what is there now."""
        metadata = child["metadata"]
        patch = {"metadata": {"uid": metadata["uid"]}, "spec": child["spec"]}
        path = kind_of(child["kind"]).path(metadata["namespace"], metadata["name"])
        return self._request("PATCH", path, patch, content_type=_MERGE, query={"fieldManager": FIELD_MANAGER})

    def create(self, document: Document) -> Document:
        """Create an object; status 409 when there is one of that name."""
        kind = kind_of(document["kind"])
        return self._request("POST", kind.path(document["metadata"]["namespace"]), document)

    def replace(self, document: Document) -> Document:
        """Put an object in place of the version that it is about; status 409 when there is another one by now."""
        metadata = document["metadata"]
        return self._request("PUT", kind_of(document["kind"]).path(metadata["namespace"], metadata["name"]), document)

    def delete(self, kind: Kind, namespace: str, name: str, *, uid: str | None = None, at_once: bool = False) -> None:
        """Delete an object and what it owns; with ``uid`` only that very one. It need not exist.

        ``at_once`` is for a pod: nobody waits for its node.
        """
        body: Document = {"propagationPolicy": "Background"}
        if at_once:
            body["gracePeriodSeconds"] = 0
        if uid is not None:
            body["preconditions"] = {"uid": uid}
        try:
            self._request("DELETE", kind.path(namespace, name), body)
        except ClusterError as error:
            if error.status != 404 and not (error.status == 409 and uid is not None):  # 409: another one by now
                raise

    def post_event(self, document: Document) -> None:
        """Create an Event."""
        self.create(document)

    def events(self, namespace: str, uid: str) -> list[Document]:
        """Return the Events about one object."""
        query = {"fieldSelector": f"involvedObject.uid={uid}", "limit": str(PAGE)}
        return list(self._request("GET", EVENT.path(namespace), query=query)["items"])

    def _apply(self, document: Document, subresource: str | None = None) -> Document:
        metadata = document["metadata"]
        path = kind_of(document["kind"]).path(metadata["namespace"], metadata["name"], subresource)
        query = {"fieldManager": FIELD_MANAGER, "force": "true"}
        return self._request("PATCH", path, document, content_type=_APPLY, query=query)

    def _request(self, method: str, path: str, body: Document | None = None, **options: Any) -> Document:
        if method != "GET":
            self._before_write()
        return self._connection.request(method, path, body, seconds=self._seconds, **options)
