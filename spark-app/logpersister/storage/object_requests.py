"""The requests that make an object, each as one function: single put, and the steps of a multipart upload."""

import base64
import secrets
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, TypeVar

from logpersister.manifest.blocks.storage import StorageSpec
from logpersister.storage.connection import Connection
from logpersister.storage.errors import StorageError
from logpersister.storage.lean import LIMIT, LeanClient
from logpersister.storage.names import decode_metadata, encode_metadata
from logpersister.storage.parts import PartBody

_ALREADY_THERE = "PreconditionFailed"
_REPLACED = frozenset({_ALREADY_THERE, "ConditionalRequestConflict", "NoSuchKey"})
"""How a server says that another object stands there, or that somebody is just replacing it, or that it is gone."""
_NO_UPLOAD = "NoSuchUpload"
ABSENT = frozenset({"404", "NoSuchKey", "NotFound"})

Value = TypeVar("Value")


def new_attempt() -> str:
    """Return a name that no other attempt has."""
    return secrets.token_hex(8)


@dataclass(frozen=True, slots=True)
class ObjectRequest:
    """An object to be made, without its content."""

    key: str
    metadata: Mapping[str, str]
    content_type: str
    if_absent: bool = False
    """Leave an object that is there already as it is."""
    replaces: str | None = None
    """Only replace the object that has this entity tag; None: whatever stands there."""
    document: bool = False
    """Members read it again: it never goes to the class of stored objects, which may be an archive."""
    attempt: str = field(default_factory=new_attempt)
    """An object in parts says this of itself, and the name of its facts document ends with it."""

    def has_met(self, error: StorageError) -> bool:
        """Whether a request failed because another object stands there."""
        replaced = self.replaces is not None and error.code in _REPLACED
        return replaced or (self.if_absent and error.code == _ALREADY_THERE)


@dataclass(frozen=True, slots=True)
class StoredObject:
    """An object that is durable and visible."""

    key: str
    bytes: int
    existing: bool = False
    """Whether it was there before: `if_absent` met an object, `replaces` met another one, or another attempt of the
    same upload had succeeded. With these conditions, `bytes` are those that would have been written."""


@dataclass(frozen=True, slots=True)
class SentPart:
    """A part that the storage has taken."""

    number: int
    tag: str
    checksum: str | None

    def listed(self) -> dict[str, Any]:
        listed: dict[str, Any] = {"PartNumber": self.number, "ETag": self.tag}
        if self.checksum is not None:
            listed["ChecksumCRC32"] = self.checksum
        return listed


class Requests:
    """Sends them; stateless apart from the connection."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._bucket = connection.storage.bucket
        self._checksums = connection.storage.checksums == "when_supported"
        self._conditions = connection.storage.conditional_writes

    def put(self, request: ObjectRequest, body: PartBody, facts: Mapping[str, str]) -> StoredObject:
        """Make a small object with all of its metadata in one request."""
        if self._is_hindered(request):
            return StoredObject(request.key, len(body), existing=True)
        arguments = self._arguments(request, {**request.metadata, **facts}) | self._checksum(body)
        arguments |= self._condition(request)
        # Joined, a small body goes out in one send and without the pause of "Expect: 100-continue".
        content: Any = body.joined() if len(body) < LIMIT else body
        if len(body) < LIMIT:
            small = StoredObject(request.key, len(body))
            stored = self._on_short_way(
                lambda lean: (lean.put(request.key, _headers(arguments), content), small),
                HTTPStatus.PRECONDITION_FAILED,
            )
            if stored is not None:
                return stored
        try:
            with self.connection.doing("putting an object", request.key) as client:
                client.put_object(Bucket=self._bucket, Key=request.key, Body=content, **arguments)
        except StorageError as error:
            if not request.has_met(error):
                raise
            return StoredObject(request.key, len(body), existing=True)
        return StoredObject(request.key, len(body))

    def listed(self, doing: str, prefix: str, kind: str = "Contents", **more: Any) -> Iterator[Any]:
        """Yield all entries of a kind (``Contents``, ``CommonPrefixes``, ``Uploads``) that begin with a prefix."""
        of: Any = "list_multipart_uploads" if kind == "Uploads" else "list_objects_v2"
        with self.connection.doing(doing, prefix) as client:
            pages: Any = client.get_paginator(of).paginate(Bucket=self._bucket, Prefix=prefix, **more)
            for page in pages:
                yield from page.get(kind, ())

    def first_keys(self, prefix: str, start_after: str, most: int) -> list[str]:
        """Return the first names of a listing, in their order."""
        found = self._on_short_way(lambda lean: lean.first_keys(prefix, start_after, most))
        if found is not None:
            return found
        with self.connection.doing("listing objects", prefix) as client:
            page = client.list_objects_v2(Bucket=self._bucket, Prefix=prefix, StartAfter=start_after, MaxKeys=most)
        return [item["Key"] for item in page.get("Contents", ())]

    def _on_short_way(self, ask: Callable[[LeanClient], tuple[int, Value]], *accepted: int) -> Value | None:
        """Try the short way; None: botocore has to do it, or say why not.

        Args:
            ask: makes the request, and returns the status of the answer and what is wanted of it.
            accepted: other statuses than success that say nothing against this way.
        """
        lean = self.connection.lean
        if lean is None:
            return None
        try:
            status, value = ask(lean)
        except Exception as cause:  # noqa: BLE001 - whatever it is, botocore meets it too and says it better
            self.connection.without_lean(cause)
            return None
        if status == HTTPStatus.OK:
            return value
        if status not in accepted:
            self.connection.without_lean(status)
        return None

    def create(self, request: ObjectRequest) -> tuple[str, bool]:
        """Begin a multipart upload. The object will say in its metadata which its facts document is.

        Return its id, and whether the request was repeated: then there may be another upload, whose id got lost.
        """
        arguments = self._arguments(request, {**request.metadata, "facts": request.attempt})
        if self._checksums:
            arguments["ChecksumAlgorithm"] = "CRC32"
        with self.connection.doing("beginning an upload", request.key) as client:
            answer = client.create_multipart_upload(Bucket=self._bucket, Key=request.key, **arguments)
        return answer["UploadId"], answer["ResponseMetadata"]["RetryAttempts"] > 0

    def send(self, key: str, upload: str, number: int, body: PartBody) -> SentPart:
        checksum: Any = self._checksum(body)
        content: Any = body
        with self.connection.doing(f"uploading part {number}", key) as client:
            answer = client.upload_part(
                Bucket=self._bucket, Key=key, UploadId=upload, PartNumber=number, Body=content, **checksum
            )
        return SentPart(number, answer["ETag"], checksum.get("ChecksumCRC32"))

    def complete(self, request: ObjectRequest, upload: str, parts: list[SentPart], size: int) -> StoredObject:
        """Make the object of an upload visible.

        An upload that is gone may be one that *was* completed: its answer got lost and the request was repeated, or
        another attempt of the same range was faster and ended ours. Then the object is there as we would have made it.
        """
        if self._is_hindered(request):
            self.abort(request.key, upload)
            return StoredObject(request.key, size, existing=True)
        listed: Any = [part.listed() for part in parts]
        try:
            with self.connection.doing("completing an upload", request.key) as client:
                client.complete_multipart_upload(
                    Bucket=self._bucket,
                    Key=request.key,
                    UploadId=upload,
                    MultipartUpload={"Parts": listed},
                    **self._condition(request),
                )
        except StorageError as error:
            if request.has_met(error):
                self.abort(request.key, upload)
            elif error.code != _NO_UPLOAD or not self._is_stored(request, size):
                raise
            return StoredObject(request.key, size, existing=True)
        return StoredObject(request.key, size)

    def abort(self, key: str, upload: str) -> None:
        """End an upload without an object; one that is gone already is fine."""
        try:
            with self.connection.doing("aborting an upload", key) as client:
                client.abort_multipart_upload(Bucket=self._bucket, Key=key, UploadId=upload)
        except StorageError as error:
            if error.code != _NO_UPLOAD:
                raise

    def head(self, key: str) -> tuple[int, dict[str, str]] | None:
        """Return size and user metadata of an object, or None when it is not there."""
        try:
            with self.connection.doing("reading metadata", key) as client:
                answer = client.head_object(Bucket=self._bucket, Key=key)
        except StorageError as error:
            if error.code in ABSENT:
                return None
            raise
        return answer["ContentLength"], decode_metadata(answer["Metadata"])

    def _condition(self, request: ObjectRequest) -> dict[str, Any]:
        if not self._conditions:
            return {}
        if request.replaces is not None:
            return {"IfMatch": request.replaces}
        return {"IfNoneMatch": "*"} if request.if_absent else {}

    def _is_hindered(self, request: ObjectRequest) -> bool:
        """Look whether another object stands there, for a storage without conditional writes. Not atomic."""
        if self._conditions or not (request.if_absent or request.replaces):
            return False
        try:
            with self.connection.doing("looking whether an object is there", request.key) as client:
                tag = client.head_object(Bucket=self._bucket, Key=request.key)["ETag"]
        except StorageError as error:
            if error.code in ABSENT:
                return request.replaces is not None
            raise
        return tag != request.replaces

    def _is_stored(self, request: ObjectRequest, size: int) -> bool:
        found = self.head(request.key)
        if found is None:
            return False
        stored_size, stored = found
        same = all(stored.get(name.lower()) == value for name, value in request.metadata.items())
        return request.if_absent or (same and stored_size == size)

    def _arguments(self, request: ObjectRequest, metadata: Mapping[str, str]) -> dict[str, Any]:
        storage: StorageSpec = self.connection.storage
        arguments: dict[str, Any] = {"Metadata": encode_metadata(metadata), "ContentType": request.content_type}
        if storage.storage_class is not None and not request.document:
            arguments["StorageClass"] = storage.storage_class
        if storage.acl is not None:
            arguments["ACL"] = storage.acl
        return arguments | encryption_arguments(storage)

    def _checksum(self, body: PartBody) -> dict[str, str]:
        if not self._checksums:
            return {}
        return {"ChecksumCRC32": base64.b64encode(body.crc32().to_bytes(4, "big")).decode("ascii")}


def encryption_arguments(storage: StorageSpec) -> dict[str, Any]:
    """Return what asks for server-side encryption as the manifest wants it."""
    if storage.encryption is None:
        return {}
    if storage.encryption.type == "S3":
        return {"ServerSideEncryption": "AES256"}
    key_id = storage.encryption.key_id
    return {"ServerSideEncryption": "aws:kms"} | ({"SSEKMSKeyId": key_id} if key_id else {})


_HEADERS = {
    "ACL": "x-amz-acl",
    "ContentType": "content-type",
    "ContentEncoding": "content-encoding",
    "StorageClass": "x-amz-storage-class",
    "ServerSideEncryption": "x-amz-server-side-encryption",
    "SSEKMSKeyId": "x-amz-server-side-encryption-aws-kms-key-id",
    "ChecksumCRC32": "x-amz-checksum-crc32",
    "IfMatch": "if-match",
    "IfNoneMatch": "if-none-match",
}


def _headers(arguments: Mapping[str, Any]) -> dict[str, str]:
    headers = {_HEADERS[name]: value for name, value in arguments.items() if name != "Metadata"}
    return headers | {f"x-amz-meta-{name}": value for name, value in arguments["Metadata"].items()}
