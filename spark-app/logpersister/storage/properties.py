"""Proves, on one tiny object, what the guarantees assume of a storage; finds the settings that a deviating one needs.

docs/guarantees.md says what each property is for. The requests are those that members make.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from typing import Any, Final, NoReturn

from logpersister.manifest.blocks.storage import StorageSpec
from logpersister.storage.connection import Connection
from logpersister.storage.deleting import delete_object, delete_objects
from logpersister.storage.errors import CONDITION_IGNORED, NOT_LISTED, Place, StorageError
from logpersister.storage.object_requests import ObjectRequest, Requests
from logpersister.storage.parts import PartBody

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
        connection: to the storage as the manifest has it.
        key: the object.
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
