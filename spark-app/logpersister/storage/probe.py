"""Finds out, within a deadline, whether a bucket can be used: reached, listed, written as the guarantees assume."""

import socket
import ssl
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import wait
from contextlib import closing, suppress
from typing import Any, Final, NoReturn
from urllib.parse import urlsplit

from logpersister.aside import in_a_thread
from logpersister.manifest.blocks.storage import StorageSpec
from logpersister.manifest.secrets import AwsKeys
from logpersister.storage import names
from logpersister.storage.connection import Connection, Timeouts
from logpersister.storage.deleting import delete_object, delete_objects
from logpersister.storage.errors import CONDITION_IGNORED, NOT_LISTED, PLAIN_SERVER, TLS_SERVER, Place, StorageError
from logpersister.storage.object_requests import ObjectRequest, Requests, new_attempt
from logpersister.storage.parts import PartBody

PAUSE = 0.5
"""Seconds between attempts."""


ONE_BY_ONE: Final = "it refuses deletes of many objects, so each is deleted by a request of its own"

_SIGNED: Final[Mapping[str, Any]] = {"checksums": "when_required"}
_OWNED: Final[Mapping[str, Any]] = {"acl": "bucket-owner-full-control"}
_LOOKING: Final[Mapping[str, Any]] = {"conditional_writes": False}
_SETTINGS: Final[Mapping[str, Sequence[Mapping[str, Any]]]] = {
    CONDITION_IGNORED: [_LOOKING],
    NOT_LISTED: [],
    "AccessDenied": [_SIGNED, _OWNED, {**_SIGNED, **_OWNED}],
}
"""Settings that a storage may need, by the code of its error."""
_FOR_REFUSALS: Final[Sequence[Mapping[str, Any]]] = [_SIGNED, _LOOKING, {**_SIGNED, **_LOOKING}]
"""Settings to try for other refusal codes, those that cost no promise first."""
_NAMES: Final = {"checksums": "checksums", "acl": "acl", "conditional_writes": "conditionalWrites"}
_LESS: Final = "; it promises less: docs/guarantees.md#stores-without-conditional-writes"

Connect = Callable[[StorageSpec], Connection]


def prove(
    connection: Connection,
    key: str,
    connect: Connect,
    reach: Callable[[Connection], None],
    note: Callable[[StorageError], object],
) -> list[str]:
    """Put, replace, list and delete the object `key`, which nobody else uses; return what the storage lacks harmlessly.

    Raises StorageError: its remedy is the setting with which the storage was found to do everything, if there is one.

    Args:
        connect: makes connections with other settings.
        reach: finds out whether the bucket can be listed.
        note: gets the error before settings are tried, which may take as long as all of this.
    """

    def attempt(tried: Connection) -> list[str]:
        reach(tried)
        return _prove(tried, key)

    try:
        return attempt(connection)
    except StorageError as error:
        if error.retriable or (error.kind != "rejected" and error.code not in _SETTINGS):
            raise
        note(error)
        found = _setting_that_helps(connection.storage, error.code, connect, attempt)
        if found is None:
            raise
        told = " and ".join(f"spec.storage.{_NAMES[name]}: {_yaml(value)}" for name, value in found.items())
        less = _LESS if "conditional_writes" in found else ""
        raise error.with_remedy(f"set {told}: with it every request succeeds (tried){less}") from None


def _setting_that_helps(
    storage: StorageSpec, code: str, connect: Connect, attempt: Callable[[Connection], object]
) -> Mapping[str, Any] | None:
    for setting in _SETTINGS.get(code, _FOR_REFUSALS):
        changed = storage.model_copy(update=dict(setting))
        if changed == storage:
            continue
        with closing(connect(changed)) as connection, suppress(StorageError):
            attempt(connection)
            return setting
    return None


def _prove(connection: Connection, key: str) -> list[str]:
    storage, requests = connection.storage, Requests(connection)
    conditional = storage.conditional_writes
    request = ObjectRequest(key, {}, "application/octet-stream", if_absent=conditional, document=True)
    upload = None
    try:
        requests.put(request, _body(), {})
        if not requests.put(request, _body(), {}).existing and conditional:
            _ignored(storage, key, "a put")
        upload, _ = requests.create(request)
        part = requests.send(key, upload, 1, _body())
        completed = requests.complete(request, upload, [part], len(_body()))
        upload = None
        if not completed.existing and conditional:
            _ignored(storage, key, "the completion of an upload")
        if key not in requests.first_keys(key, "", 1):
            reason = "a listing does not show an object that was just put"
            raise _place(storage).failure("rejected", NOT_LISTED, reason, "checking the bucket", key)
        delete_objects(connection, [key])
    except StorageError:
        with suppress(StorageError):  # the first error is the news
            if upload is not None:
                requests.abort(key, upload)
            delete_object(connection, key)
        raise
    return [] if connection.deletes_many else [ONE_BY_ONE]


def _ignored(storage: StorageSpec, key: str, request: str) -> NoReturn:
    reason = f"the storage ignores If-None-Match: * on {request}, and replaced an object that was there"
    raise _place(storage).failure("rejected", CONDITION_IGNORED, reason, "checking the bucket", key)


def _place(storage: StorageSpec) -> Place:
    return Place(storage.endpoint or "AWS S3", storage.bucket)


def _body() -> PartBody:
    return PartBody([memoryview(b"logpersister")])


def _yaml(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def check(
    storage: StorageSpec,
    credentials: Callable[[], AwsKeys | None],
    authority: Callable[[], str | None],
    group: str,
    deadline: float,
) -> list[str]:
    """List one object, then prove on a tiny object what is assumed of the storage; raises StorageError.

    Returns in words what the storage lacks without harm.
    What may pass by itself is tried again until the deadline, for a storage that starts at the same time as we do.
    It runs in a thread of its own, because neither name resolution nor every source of credentials has a time-out.
    """
    until = time.monotonic() + deadline
    patience = Timeouts(connect=max(0.5, deadline / 3), read=max(0.5, deadline / 3), attempts=1)
    latest: list[StorageError] = []

    def connect(spec: StorageSpec) -> Connection:
        return Connection(spec, credentials, authority, on_retry=lambda _: None, timeouts=patience, connections=1)

    connection = connect(storage)

    reached = threading.Event()

    def reach(tried: Connection) -> None:
        _list(tried)
        reached.set()

    def use() -> list[str]:
        return prove(connection, names.probe_key(storage.prefix, group, new_attempt()), connect, reach, latest.append)

    def work() -> list[str]:
        try:
            return _try_until(until, use, latest)
        finally:
            connection.close()

    answer = in_a_thread(work, deadline)
    if reached.is_set():
        wait([answer], deadline)  # it answers, if slowly
    if answer.done():
        return answer.result()
    silent = TimeoutError(f"no answer within {deadline:g} s")
    raise latest[-1] if latest else _place(storage).error("checking the bucket", None, silent)


def _try_until(until: float, use: Callable[[], list[str]], latest: list[StorageError]) -> list[str]:
    while True:
        try:
            return use()
        except StorageError as error:
            latest.append(error)
            if error.code in (PLAIN_SERVER, TLS_SERVER) or not error.retriable or time.monotonic() + PAUSE >= until:
                raise
        time.sleep(PAUSE)


def _list(connection: Connection) -> None:
    storage = connection.storage
    # A listing and no HEAD, whose answer has no body: it would say 403, and not which key is wrong.
    try:
        with connection.doing("listing the bucket") as client:
            client.list_objects_v2(Bucket=storage.bucket, Prefix=names.head(storage.prefix), MaxKeys=1)
    except StorageError as error:
        if error.kind == "unreachable" and _speaks_tls(storage.endpoint or ""):
            told = "the endpoint is http, and the server there speaks TLS only"
            raise _place(storage).failure("unreachable", TLS_SERVER, told, "listing the bucket") from None
        raise


def _speaks_tls(endpoint: str) -> bool:
    """Whether a plain endpoint has ended our connection because it wants TLS."""
    url = urlsplit(endpoint)
    if url.scheme != "http" or url.hostname is None:
        return False
    anybody = ssl.create_default_context()
    anybody.check_hostname, anybody.verify_mode = False, ssl.CERT_NONE  # nothing is sent: it only greets
    try:
        with socket.create_connection((url.hostname, url.port or 80), timeout=2) as connection:
            anybody.wrap_socket(connection).close()
    except OSError:
        return False
    return True
