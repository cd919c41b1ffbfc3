"""`logpersister head`, on a real S3 server: objects by address, and by topic, partition and offset."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from logpersister.cli import main
from logpersister.cli.exits import Exit
from logpersister.manifest import load
from logpersister.manifest.revisions.revision import revision_of
from logpersister.manifest.secrets import Secrets
from logpersister.storage.names import object_key, revision_key
from logpersister.storage.store import ObjectStore, open_store
from tests.stack import MinioServer
from tests.unit.manifest.documents import changed

Capture = pytest.CaptureFixture[str]
pytestmark = pytest.mark.usefixtures("logging_as_before")
GROUP = "clicks-backup"


@pytest.fixture
def manifest(minio: MinioServer, s3_secret: str, bucket: str, tmp_path: Path) -> Path:
    """Lines that end with \\x1e. Its brokers are not needed."""
    document = changed(
        {
            "spec.kafka": {"bootstrapServers": "none:1", "topics": ["clicks", "gone"]},
            "spec.storage": {"bucket": bucket, "prefix": "raw", "endpoint": minio.endpoint, "secretName": s3_secret},
            "spec.output": {"text": {"compression": "none", "delimiter": "\u001e"}},
        }
    )
    file = tmp_path / "clicks.yaml"
    file.write_text(json.dumps(document))
    return file


@pytest.fixture
def objects(manifest: Path) -> Mapping[str, str]:
    """Stored as members do: keys by a name of each."""
    resource = load(manifest)
    revision = revision_of(resource, "1")
    with open_store(resource.spec.storage, Secrets()) as store:
        store.put_json(revision_key("raw", GROUP, revision.hash), revision.document)

        def put(path: str, generation: int, start: int, last: int, values: list[bytes]) -> str:
            return _put(store, revision.hash, path, generation, start, last, values)

        return {
            "old": put("dt=1", 1, 0, 99, [b"old %d" % n for n in range(100)]),
            "first": put("dt=1", 2, 0, 99, [b"value\n%d" % n for n in range(100)]),
            "gaps": put("dt=1", 2, 100, 199, [b"odd %d" % n for n in range(101, 200, 2)]),
            "beside": put("dt=2", 2, 100, 198, [b"even %d" % n for n in range(100, 200, 2)]),
        }


def _put(
    store: ObjectStore, revision: str, path: str, generation: int, start: int, last: int, values: list[bytes]
) -> str:
    key = object_key("raw", "clicks", path, generation, 0, start, ".txt")
    metadata = {"group": GROUP, "generation": str(generation), "revision": revision, "topic": "clicks", "topic-id": ""}
    metadata |= {"partition": "0", "start": str(start), "end": str(start + 100)}
    writer = store.writer(key, metadata, content_type="text/plain")
    writer.write(b"".join(value + b"\x1e" for value in values))
    first = start + (1 if values[0].startswith(b"odd") else 0)
    facts = {"first": str(first), "last": str(last), "records": str(len(values)), "tombstones": "0"}
    writer.finish({**facts, "checksum": "crc32:00000000"})
    return key


def values(capsys: Capture, *argv: str) -> list[str]:
    assert main(["head", *argv, "--json"]) == Exit.OK
    return [record["value"] for record in json.loads(capsys.readouterr().out)["records"]]


def test_an_object_by_its_address_alone(
    manifest: Path,
    objects: Mapping[str, str],
    bucket: str,
    minio: MinioServer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Capture,
) -> None:
    """Its own revision says what its records end with."""
    address = f"s3://{bucket}/{objects['first']}"
    assert values(capsys, address, "--endpoint", minio.endpoint, "--s3-secret", "s3", "-n", "2") == [
        "value\n0",
        "value\n1",
    ]
    monkeypatch.setenv("AWS_ENDPOINT_URL", minio.endpoint)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", minio.access_key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", minio.secret_key)
    assert main(["head", address, "-n", "2"]) == Exit.OK
    shown = capsys.readouterr()
    assert shown.out == "value\\n0\nvalue\\n1\n"
    assert shown.err == f"{address}: text, none, 890 B\n"
    assert values(capsys, "-f", str(manifest), address, "-n", "1") == ["value\n0"]


def test_by_topic_partition_and_offset(manifest: Path, objects: Mapping[str, str], capsys: Capture) -> None:
    def head(*place: str) -> list[str]:
        return values(capsys, "-f", str(manifest), "-n", "1", "clicks", *place)

    assert head() == ["old 0"]
    assert head("0") == ["value\n0"]
    assert head("0", "42") == ["value\n42"]
    assert main(["head", "-f", str(manifest), "clicks", "0", "142", "--json", "-n", "1"]) == Exit.OK
    document = json.loads(capsys.readouterr().out)
    assert document["key"] == objects["gaps"]
    assert document["records"][0] == {"offset": None, "timestamp": None, "key": None, "value": "odd 101"}
    beside, counted = sorted(document["notes"], reverse=True)
    assert beside.endswith(objects["beside"])
    assert "not all in this object" in counted


@pytest.mark.parametrize(
    ("place", "code", "words"),
    [
        (["clicks", "0", "1000"], Exit.FAILED, "no object of clicks-0 with offset 1000"),
        (["s3://{bucket}/none"], Exit.FAILED, "s3://{bucket}/none: there is no such object"),
        (["s3://there-is-no-such-bucket/a"], Exit.UNREACHABLE, "the bucket does not exist"),
    ],
)
def test_what_is_not_there(
    place: list[str],
    code: Exit,
    words: str,
    manifest: Path,
    objects: Mapping[str, str],
    bucket: str,
    capsys: Capture,
) -> None:
    assert main(["head", "-f", str(manifest), *(word.format(bucket=bucket) for word in place)]) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert words.format(bucket=bucket) in captured.err
