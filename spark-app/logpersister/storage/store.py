"""The bucket of one manifest: writing objects of records, and reading back what is known about them."""

import json
import os
import threading
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NoReturn, Self

from logpersister.manifest.blocks.storage import StorageSpec
from logpersister.manifest.secrets import AwsKeys, Secrets, storage_authority, storage_credentials
from logpersister.storage import names, probe, sweep
from logpersister.storage.budget import ByteBudget
from logpersister.storage.connection import Connection, RetryCounter, Timeouts
from logpersister.storage.deleting import delete_object, delete_objects
from logpersister.storage.errors import StorageError
from logpersister.storage.facts import ObjectFacts, parse_facts
from logpersister.storage.imprint import Imprint, get_imprint
from logpersister.storage.names import ObjectName
from logpersister.storage.object_requests import ObjectRequest, Requests, StoredObject
from logpersister.storage.parts import Part
from logpersister.storage.peek import Peeked, peek
from logpersister.storage.writer import ObjectWriter, WriterResources

__all__ = ["ListedObject", "ObjectStore", "ObjectWriter", "StoredObject", "open_store"]

SENDERS = 16
"""Threads that send bodies: many, for many tiny objects; what they hold is bounded in bytes."""
FINISHERS = 4
BUDGET_IN_PARTS = 4
"""Parts that all writers of a process together have on their way."""
READ_BYTES = 1 << 20
READ_RETRIES = 5
"""Attempts in a row to continue a read without progress; each request has botocore's own retries besides."""

_JSON = "application/json"


@dataclass(frozen=True, slots=True)
class ListedObject:
    """An object as a listing shows it."""

    key: str
    size: int
    last_modified: datetime


def _uncounted(_: str) -> None:
    """Count no retry."""


def open_store(
    storage: StorageSpec, secrets: Secrets, *, on_retry: RetryCounter = _uncounted, timeouts: Timeouts | None = None
) -> "ObjectStore":
    """Return the store of ``spec.storage``; nothing is connected yet.

    A missing Secret is found here (ManifestError); a rotated one is read again when the storage refuses the old keys.
    """
    storage_credentials(storage, secrets)
    return store_of(storage, secrets, on_retry=on_retry, timeouts=timeouts)


def store_of(
    storage: StorageSpec, secrets: Secrets, *, on_retry: RetryCounter = _uncounted, timeouts: Timeouts | None = None
) -> "ObjectStore":
    """Return the same store as `open_store`, but read no Secret before the store is used."""
    return ObjectStore(
        storage,
        None,
        renew=lambda: storage_credentials(storage, secrets),
        authority=lambda: storage_authority(storage, secrets),
        on_retry=on_retry,
        timeouts=timeouts or Timeouts(),
    )


class ObjectStore:
    """One bucket, used by any number of threads. Connects on first use, anew in a forked process; never pickled."""

    def __init__(
        self,
        storage: StorageSpec,
        credentials: AwsKeys | None,
        *,
        renew: Callable[[], AwsKeys | None] | None = None,
        authority: Callable[[], str | None] = lambda: None,
        on_retry: RetryCounter = _uncounted,
        timeouts: Timeouts | None = None,
    ) -> None:
        """Take resolved credentials (None: the chain of the SDK), and how to resolve them again if they are refused."""
        self.storage = storage
        self.prefix = storage.prefix
        self._credentials, self._authority = renew or (lambda: credentials), authority
        self._connection = Connection(
            storage,
            self._credentials,
            authority,
            on_retry=on_retry,
            timeouts=timeouts or Timeouts(),
            connections=SENDERS + FINISHERS + 2,
        )
        self._requests = Requests(self._connection)
        self._lock = threading.Lock()
        self._resources: WriterResources | None = None
        self._pid = os.getpid()

    def __reduce__(self) -> NoReturn:
        raise TypeError("a store must not be pickled: open it in the process that needs it")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def writer(
        self,
        key: str,
        metadata: Mapping[str, str],
        *,
        content_type: str,
        if_absent: bool = False,
        replaces: str | None = None,
        sweep: bool = False,
    ) -> ObjectWriter:
        """Begin the object `key` of records.

        Args:
            metadata: what is known now; has at least ``group``. Values may be any text.
            if_absent: leave an object that is already there as it is, and report it as stored.
            replaces: only replace the object with this entity tag; otherwise as with `if_absent`.
            sweep: once the object is stored, abort other uploads of the same key: those of whoever died while
                executing the same intent. One more request, so only for intents that are executed again.
        """
        if not metadata.get("group"):
            raise ValueError("the metadata of an object of records names its group")
        request = ObjectRequest(key, metadata, content_type, if_absent, replaces)
        names.encode_metadata(metadata)  # both find now what S3 would not take
        names.facts_key(self.prefix, metadata["group"], key, request.attempt)
        return ObjectWriter(self._writer_resources(), request, sweep=sweep)

    def put_json(self, key: str, document: Mapping[str, Any], *, if_absent: bool = False) -> StoredObject:
        """Store a document: the same document gives the same bytes. Raises StorageError."""
        return self._put(ObjectRequest(key, {}, _JSON, if_absent=if_absent, document=True), _json(document))

    def replace_json(self, key: str, document: Mapping[str, Any], tag: str | None) -> bool:
        """Store a document in the place of the one with an entity tag, or of none; False: another one stands there.

        A server that knows no conditional puts stores it in any case. Raises StorageError.
        """
        request = ObjectRequest(key, {}, _JSON, if_absent=tag is None, replaces=tag, document=True)
        return not self._put(request, _json(document)).existing

    def put_marker(self, key: str) -> None:
        """Store an empty object, whose presence says something. Raises StorageError."""
        self._put(ObjectRequest(key, {}, "application/octet-stream", document=True), b"")

    def _put(self, request: ObjectRequest, content: bytes) -> StoredObject:
        part = Part(len(content))
        part.add(memoryview(content))
        return self._requests.put(request, part.body(), {})

    def get_json(self, key: str) -> dict[str, Any] | None:
        """Return a document, or None when there is none. Raises StorageError, also for what is not a JSON object."""
        found = self.get_tagged(key)
        return None if found is None else found[0]

    def get_tagged(self, key: str) -> tuple[dict[str, Any], str] | None:
        """Return a document and its entity tag, or None when there is none. Raises StorageError as `get_json`."""
        try:
            with self._connection.doing("reading a document", key) as client:
                answer = client.get_object(Bucket=self.storage.bucket, Key=key)
                content, tag = answer["Body"].read(), answer["ETag"]
        except StorageError as error:
            if error.code == "NoSuchKey":
                return None
            raise
        try:
            document = json.loads(content)
        except ValueError:
            document = None
        if not isinstance(document, dict):
            raise StorageError(
                "damaged",
                f"bucket {self.storage.bucket!r}, object {key!r}: expected a JSON object, found something else",
            )
        return document, tag

    def read(self, key: str) -> Generator[bytes, None, None]:
        """Stream the content of an object; goes on where a connection broke. Raises StorageError.

        Close the generator when not all of it is read.
        """
        position, failures, version = 0, 0, ""
        while True:
            try:
                with self._connection.doing("reading an object", key) as client:
                    # The same object, or an error: half of one and half of its successor would be neither.
                    rest: Any = {"Range": f"bytes={position}-", "IfMatch": version} if position else {}
                    answer = client.get_object(Bucket=self.storage.bucket, Key=key, **rest)
                    version = answer["ETag"]
                    with closing(answer["Body"]) as body:
                        for piece in body.iter_chunks(READ_BYTES):
                            yield piece
                            position, failures = position + len(piece), 0
            except StorageError as error:
                failures += 1
                if not error.retriable or failures > READ_RETRIES:
                    raise
            else:
                return

    def read_piece(self, key: str, start: int, length: int) -> bytes:
        """Return `length` bytes of an object from `start`, in one request. Raises StorageError."""
        piece = f"bytes={start}-{start + length - 1}"
        with self._connection.doing("reading an object", key) as client:
            return client.get_object(Bucket=self.storage.bucket, Key=key, Range=piece)["Body"].read()

    def size(self, key: str) -> int | None:
        """Return how many bytes an object has, or None when it is not there. Raises StorageError."""
        found = self._requests.head(key)
        return None if found is None else found[0]

    def peek(self, key: str) -> Peeked | None:
        """Begin to read an object, a little at a time; None when it is not there. Raises StorageError."""
        return peek(self._connection, self.storage.bucket, key)

    def list_objects(self, prefix: str | None = None, *, start_after: str = "") -> Iterator[ListedObject]:
        """Yield the objects whose names begin with `prefix` (default: that of the manifest), in the order of names."""
        whole = names.head(self.prefix) if prefix is None else prefix
        arguments = {"StartAfter": start_after} if start_after else {}
        for item in self._requests.listed("listing objects", whole, **arguments):
            yield ListedObject(item["Key"], item["Size"], item["LastModified"])

    def first_keys(self, prefix: str, *, start_after: str, most: int) -> list[str]:
        """Return the first names that begin with `prefix` and stand behind another one, in one small request."""
        return self._requests.first_keys(prefix, start_after, most)

    def inventory(self, topic: str) -> Iterator[tuple[ObjectName, ListedObject]]:
        """Yield the objects of records of a topic, of all generations and groups; foreign objects are left out."""
        for listed in self.list_objects(names.topic_prefix(self.prefix, topic)):
            name = names.parse_object_key(self.prefix, listed.key)
            if name is not None:
                yield name, listed

    def folders(self, prefix: str, *, behind: str = "") -> Iterator[str]:
        """Yield the folders in the folder `prefix`, all of which end with a slash, in the order of names.

        Only those behind the name `behind`, if it is given.
        """
        arguments = {"StartAfter": prefix + behind} if behind else {}
        for item in self._requests.listed("listing folders", prefix, "CommonPrefixes", Delimiter="/", **arguments):
            yield item["Prefix"]

    def metadata(self, key: str) -> Mapping[str, str] | None:
        """Return the user metadata of an object as it was given, or None when the object is not there."""
        found = self._requests.head(key)
        return None if found is None else found[1]

    def imprint(self, key: str) -> Imprint | None:
        """Return what a copy of an object is judged by, or None when the object is not there. Raises StorageError."""
        return get_imprint(self._connection, key)

    def facts(self, key: str) -> ObjectFacts | None:
        """Return what is known about an object of records, or None when the object is not there.

        Raises ForeignObjectError for an object that is not one of ours, StorageError when the storage fails.
        """
        metadata = self.metadata(key)
        while metadata is not None:
            group, attempt = metadata.get("group"), metadata.get("facts")
            document = None
            if group and attempt and names.is_attempt(attempt):
                document = self.get_json(names.facts_key(self.prefix, group, key, attempt))
            # Another attempt may have replaced the object meanwhile, and have removed the facts that it had.
            now = self.metadata(key) if attempt and document is None else metadata
            if now == metadata:
                return parse_facts(key, metadata, document)
            metadata = now
        return None

    def delete(self, key: str) -> None:
        """Delete an object; one that is not there is fine."""
        delete_object(self._connection, key)

    def delete_all(self, keys: Sequence[str]) -> None:
        """Delete objects, many in a request if the storage can; none need be there. Raises StorageError."""
        delete_objects(self._connection, keys)

    def check(self, group: str, deadline: float = 15.0) -> list[str]:
        """Find out within `deadline` seconds whether the bucket can be used and does what the guarantees assume.

        Returns what it lacks without harm, in words. Raises StorageError naming address, cause and remedy. Leaves
        nothing behind.
        """
        return probe.check(self.storage, self._credentials, self._authority, group, deadline)

    def close(self) -> None:
        """Wait for what is on its way, then close all connections. The store may be used again afterwards."""
        with self._lock:
            resources, self._resources = self._resources, None
        if resources is not None and self._pid == os.getpid():
            resources.finishers.shutdown()
            resources.senders.shutdown()
        self._connection.close()

    def _writer_resources(self) -> WriterResources:
        if self._pid != os.getpid():  # forked: the threads stayed behind
            self._lock, self._resources, self._pid = threading.Lock(), None, os.getpid()
        with self._lock:
            if self._resources is None:
                part = self.storage.part_size
                self._resources = WriterResources(
                    requests=self._requests,
                    senders=ThreadPoolExecutor(SENDERS, thread_name_prefix="send"),
                    finishers=ThreadPoolExecutor(FINISHERS, thread_name_prefix="finish"),
                    budget=ByteBudget(BUDGET_IN_PARTS * part),
                    put_facts=self._put_facts,
                    sweep=self._sweep,
                    drop_facts=self._drop_facts,
                    first_part=part,
                )
            return self._resources

    def _put_facts(self, request: ObjectRequest, facts: Mapping[str, str]) -> None:
        # It repeats the range, so that nobody can mistake it.
        self.put_json(self._facts_key(request), {**request.metadata, **facts})

    def _drop_facts(self, request: ObjectRequest) -> None:
        sweep.drop_facts(self._requests, request.key, self._facts_key(request))

    def _sweep(self, request: ObjectRequest, own: str) -> None:
        facts = names.facts_prefix(self.prefix, request.metadata["group"], request.key)
        sweep.sweep(self._requests, request.key, own, facts)

    def _facts_key(self, request: ObjectRequest) -> str:
        return names.facts_key(self.prefix, request.metadata["group"], request.key, request.attempt)


def _json(document: Mapping[str, Any]) -> bytes:
    return (json.dumps(document, sort_keys=True, indent=1, ensure_ascii=False) + "\n").encode()
