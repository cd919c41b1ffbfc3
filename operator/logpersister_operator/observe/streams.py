"""Lists and watches of many kinds and namespaces in one event loop, by the asynchronous client of `kubernetes`."""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

import aiohttp
from kubernetes.aio.client import Configuration as AsyncConfiguration
from kubernetes.aio.client.rest import RESTClientObject
from kubernetes.client import Configuration

from logpersister_operator.cluster.access import Access, AccessError
from logpersister_operator.cluster.connection import ClusterError, content_of, headers_of, url_of
from logpersister_operator.cluster.kinds import Document, Kind

CONNECT_SECONDS: Final = 10.0
LIST_SECONDS: Final = 60.0
"""Deadline of one page."""
SILENCE_SECONDS: Final = 80.0
"""The longest silence of a watch: the API server sends a bookmark every minute, except for kinds of which nothing has
changed since it started."""
PAGE: Final = 100
"""Objects of one page, so that the memory that it needs is bounded."""
_ITS_CLASSES: Final = (aiohttp.ClientError, TimeoutError, AccessError, OSError, ValueError)


class Streams:
    """The way to one API server, of one event loop."""

    def __init__(self, access: Access, silence_seconds: float = SILENCE_SECONDS) -> None:
        """Prepare; a watch that is silent for longer ends, so that the next one shows whether the server is there."""
        self._access = access
        self._silence = aiohttp.ClientTimeout(sock_connect=CONNECT_SECONDS, sock_read=silence_seconds)
        self._present: _Client | None = None

    async def pages(self, kind: Kind, namespace: str | None, labels: str) -> AsyncIterator[Document]:
        """Yield all objects of a kind, of one namespace or of all, in answers of bounded size; raises ClusterError.

        An answer is a list as the API server gives it: its items name no kind. ``labels`` is a selector.
        """
        query = {"limit": str(PAGE), "labelSelector": labels}
        while True:
            path = kind.path(namespace)
            async with self._answer(path, query, aiohttp.ClientTimeout(LIST_SECONDS)) as answer:
                page = content_of(f"GET {path}", answer.status, await answer.read())
            yield page
            following = page["metadata"].get("continue")
            if not following:
                return
            query["continue"] = following

    async def events(
        self,
        kind: Kind,
        namespace: str | None,
        labels: str,
        *,
        version: str,
        seconds: int,
        on_begin: Callable[[], None] = lambda: None,
    ) -> AsyncGenerator[Document, None]:
        """Yield the events of a watch from a resource version on, for at most so many seconds; raises ClusterError.

        Among them are bookmarks, which only have a resource version. ``on_begin`` is called when the server answers.
        """
        path = kind.path(namespace)
        query = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "labelSelector": labels,
            "resourceVersion": version,
            "timeoutSeconds": str(seconds),
        }
        async with self._answer(path, query, self._silence) as answer:
            if answer.status != HTTPStatus.OK:
                content_of(f"GET {path}", answer.status, await answer.read())
            on_begin()
            try:
                async for line in answer.content:
                    event: Document = json.loads(line)
                    if event["type"] == "ERROR":
                        found = event["object"]
                        message = f"watch of {kind.plural}: {found.get('message', found)}"
                        raise ClusterError(message, found.get("code") or 0)
                    yield event
            except aiohttp.SocketTimeoutError:
                return

    async def close(self) -> None:
        if self._present is not None:
            await self._present.rest.close()

    @asynccontextmanager
    async def _answer(
        self, path: str, query: dict[str, str], limit: aiohttp.ClientTimeout
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Ask; raises ClusterError, also for what goes wrong while the answer is read.

        A client that was replaced is closed by the last one who reads from it: watches go on when another logs in anew.
        """
        answer = None
        try:
            client = self._client()
            client.readers += 1
            try:
                url, headers = url_of(client.configuration, path, query), headers_of(self._access)
                answer = await client.rest.request("GET", url, headers=headers, _request_timeout=limit)
                if answer.status == HTTPStatus.UNAUTHORIZED:
                    self._access.renew(client.configuration)
                yield answer.response
            finally:
                if answer is not None:
                    answer.response.close()  # what is not read to its end cannot be used for another question
                client.readers -= 1
                if client is not self._present and not client.readers:
                    await client.rest.close()
        except _ITS_CLASSES as error:
            raise ClusterError(f"GET {path}: the API server did not answer: {str(error) or repr(error)}") from error

    def _client(self) -> "_Client":
        configuration = self._access.configuration
        if self._present is None or self._present.configuration is not configuration:
            self._present = _Client(configuration, RESTClientObject(_asynchronous(configuration)))
        return self._present


@dataclass(slots=True)
class _Client:
    configuration: Configuration
    rest: RESTClientObject
    readers: int = 0
    """Lists and watches that read from it."""


def _asynchronous(configuration: Configuration) -> AsyncConfiguration:
    """Return the same for the asynchronous client, which reads kubeconfigs by a class of its own."""
    same = ("host", "ssl_ca_cert", "cert_file", "key_file", "verify_ssl", "tls_server_name", "proxy")
    found = AsyncConfiguration()
    for name in same:
        setattr(found, name, getattr(configuration, name))
    found.connection_pool_maxsize = 0  # no limit: each watch has a connection
    found.client_session_kwargs = {"trust_env": False}  # it is known by now whether there is a proxy
    return found
