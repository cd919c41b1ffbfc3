"""What the tests of the store share: how they write, and how they look at the bucket by boto3 itself."""

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from logpersister.storage.names import object_key
from logpersister.storage.store import ObjectStore, ObjectWriter

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

MIB = 1 << 20
PART = 5 * MIB
GROUP = "clicks/Tägliche Sicherung"
FACTS = {"first": "0", "last": "9", "records": "10", "tombstones": "1", "checksum": "crc32:0-0-0-0"}

MakeStore = Callable[..., ObjectStore]


class Retries(Counter[str]):
    """How often each kind of retry was told."""

    def __call__(self, kind: str) -> None:
        self[kind] += 1


def key_of(start: int, topic: str = "clicks", path: str = "") -> str:
    return object_key("raw", topic, path, 1, 0, start, ".txt")


def metadata_of(start: int, **changes: str) -> dict[str, str]:
    return {
        "group": GROUP,
        "generation": "1",
        "revision": "0123456789ab",
        "topic": "clicks",
        "topic-id": "qD4sIuXQTmGcBSm4PNK0bw",
        "partition": "0",
        "start": str(start),
        "end": str(start + 100),
        **changes,
    }


def facts_of(start: int) -> dict[str, str]:
    return {**FACTS, "first": str(start), "last": str(start + 9)}


def begin(store: ObjectStore, start: int, **arguments: Any) -> ObjectWriter:
    return store.writer(key_of(start), metadata_of(start), content_type="text/plain", **arguments)


def content(size: int, seed: int = 0) -> bytes:
    """Bytes in which no two parts are the same."""
    return b"".join((index + seed).to_bytes(8, "big") for index in range(size // 8 + 1))[:size]


def write_in_pieces(writer: ObjectWriter, data: bytes, piece: int = 300_000) -> None:
    for begin_ in range(0, len(data), piece):
        writer.write(data[begin_ : begin_ + piece])


def read(s3: "S3Client", bucket: str, key: str) -> bytes:
    return s3.get_object(Bucket=bucket, Key=key)["Body"].read()


def uploads(s3: "S3Client", bucket: str, key: str) -> list[str]:
    return [upload["UploadId"] for upload in s3.list_multipart_uploads(Bucket=bucket, Prefix=key).get("Uploads", [])]


def keys(s3: "S3Client", bucket: str) -> list[str]:
    return [item["Key"] for item in s3.list_objects_v2(Bucket=bucket).get("Contents", [])]
