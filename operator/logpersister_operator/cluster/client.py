"""Requests to the API server, each with a deadline. Objects are plain documents, as `kopf` gives them too."""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

import urllib3.exceptions
from kubernetes.client import ApiClient

from logpersister_operator.cluster.kinds import STATEFUL_SET, Document, Kind, kind_of

FIELD_MANAGER: Final = "logpersister-operator"
"""Owner of every field that we set, in ``metadata.managedFields``."""
REQUEST_SECONDS: Final = 10.0

_OF_NONE: Final = "1"
"""A resource version that no object has: an apply with it makes an object, and changes none that is there."""
_APPLY: Final = "application/apply-patch+yaml"
_MERGE: Final = "application/merge-patch+json"
_JSON: Final = "application/json"


class ClusterError(Exception):
    """The API server refused a request, or did not answer it.

    ``status`` is that of HTTP; 0 without an answer.
    """

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


class Cluster(Protocol):
    """What the operator asks of the API server. Every method raises ClusterError."""

    def get(self, kind: Kind, namespace: str, name: str) -> Document | None: ...

    def find(self, kind: Kind, namespace: str, name: str) -> Document | None: ...

    def apply(self, document: Document, uid: str | None = None) -> Document: ...

    def apply_status(self, document: Document) -> Document: ...

    def scale(self, stateful_set: Document) -> Document: ...

    def create(self, document: Document) -> Document: ...

    def replace(self, document: Document) -> Document: ...

    def delete(self, kind: Kind, namespace: str, name: str, *, uid: str | None = None) -> None: ...

    def post_event(self, document: Document) -> None: ...


class ApiServer:
    """The real one."""

    def __init__(
        self,
        api: ApiClient,
        request_seconds: float = REQUEST_SECONDS,
        before_write: Callable[[], None] = lambda: None,
    ) -> None:
        """Send requests with a deadline; ``before_write`` may prevent a write."""
        self._api = api
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

    def apply(self, document: Document, uid: str | None = None) -> Document:
        """Apply on the server: fields that we no longer name go away, fields of others stay; return what is there now.

        Conflicts are forced: what we declare is ours, and drift is repaired. So it must be known whose object it is.

        Args:
            document: what shall be there.
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

    def scale(self, stateful_set: Document) -> Document:
        """Give a StatefulSet, that very one, the replicas that it has here; return what is there now."""
        metadata = stateful_set["metadata"]
        patch = {"metadata": {"uid": metadata["uid"]}, "spec": {"replicas": stateful_set["spec"]["replicas"]}}
        path = STATEFUL_SET.path(metadata["namespace"], metadata["name"])
        return self._request("PATCH", path, patch, content_type=_MERGE, query={"fieldManager": FIELD_MANAGER})

    def create(self, document: Document) -> Document:
        """Create an object; status 409 when there is one of that name."""
        kind = kind_of(document["kind"])
        return self._request("POST", kind.path(document["metadata"]["namespace"]), document)

    def replace(self, document: Document) -> Document:
        """Put an object in place of the version that it is about; status 409 when there is another one by now."""
        metadata = document["metadata"]
        return self._request("PUT", kind_of(document["kind"]).path(metadata["namespace"], metadata["name"]), document)

    def delete(self, kind: Kind, namespace: str, name: str, *, uid: str | None = None) -> None:
        """Delete an object and what it owns; with ``uid`` only that very one. It need not exist."""
        body: Document = {"propagationPolicy": "Background"}
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

    def _apply(self, document: Document, subresource: str | None = None) -> Document:
        metadata = document["metadata"]
        path = kind_of(document["kind"]).path(metadata["namespace"], metadata["name"], subresource)
        query = {"fieldManager": FIELD_MANAGER, "force": "true"}
        return self._request("PATCH", path, document, content_type=_APPLY, query=query)

    def _request(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        content_type: str = _JSON,
        query: Mapping[str, str] | None = None,
    ) -> Document:
        if method != "GET":
            self._before_write()
        headers = {"Accept": _JSON, "Content-Type": content_type}
        method, url, headers, _, post = self._api.param_serialize(
            method, path, query_params=list((query or {}).items()), header_params=headers, auth_settings=["BearerToken"]
        )
        content = json.dumps(body) if content_type == _APPLY else body  # bodies of JSON the client writes itself
        try:
            response = self._api.call_api(method, url, headers, content, post, _request_timeout=self._seconds)
            answer = response.read()
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise ClusterError(f"{method} {path}: the API server did not answer: {error}") from error
        if not 200 <= response.status < 300:
            raise ClusterError(f"{method} {path}: {_reason(answer, response.status)}", response.status)
        return dict(json.loads(answer)) if answer else {}


def _reason(content: bytes, status: int) -> str:
    try:
        return f"{json.loads(content)['message']} ({status})"
    except (ValueError, KeyError, TypeError):
        return f"HTTP status {status}"
