"""What a record can be: any key, value and headers. Nothing of it stops a member.

Keys, of up to 70 kB, are compared where the format keeps them; no format of these keeps headers. Records of 10 MiB are
in test_member_verbatim.
"""

from collections.abc import Callable, Sequence
from typing import Any

from logpersister.cli.exits import Exit
from tests.integration.harness.bucket import StoredObject
from tests.integration.harness.scene import CreateTopic, Scene
from tests.integration.harness.verification import Verify, kinds
from tests.readers.messagepack import decode_map
from tests.stack import Kafka
from tests.stack.topics import Record, produce, read_all

RECORD_SEPARATOR = "\u001e"
VALUES = [
    b"plain",
    b"",
    None,
    b"no UTF-8: \xff\xfe\xc3\x28",
    b"\x00\x01\x02",
    b"line\nbreak\r\n",
    b"\\ backslash \\n",
    "zwölf 𝄞".encode(),
    bytes(byte for byte in range(256) if byte != ord(RECORD_SEPARATOR)),
]
KEYS = [None, b"", b"key", b"\xff\x00\n", b"k" * 70_000]
HEADERS: list[Sequence[tuple[str, bytes]]] = [
    (),
    (("name", b"value"),),
    (("twice", b"1"), ("other", b""), ("twice", b"2"), ("twice", b"1")),
    (("", b""), ("zwölf 𝄞", b"\xff\x00\n")),
    tuple((f"h{number}", b"x" * number) for number in range(300)),
]
FROM_JAVA = ["NULL\tkey\tno headers", "n:NULL,n:,n:x\tkey\tnull headers", "NULL\tNULL\tno key", "n:NULL\tNULL\tNULL"]
"""Headers, key and value, as the lines of Kafka's console producer: Python's has no null headers, nor only nulls."""
OF_JAVA: list[Any] = [
    (b"key", b"no headers", ()),
    (b"key", b"null headers", (("n", None), ("n", b""), ("n", b"x"))),
    (None, b"no key", ()),
    (None, None, (("n", None),)),
]
"""Key, value and headers of these."""


def write_every_kind(kafka: Kafka, topic: str, from_java: Sequence[str]) -> list[Record]:
    """Write every value with every key, headers in turn, and what Java writes; return what Kafka holds then."""
    pairs = [(key, value) for value in VALUES for key in KEYS if (key, value) != (None, None)]
    records = [Record(value, key, headers=HEADERS[place % len(HEADERS)]) for place, (key, value) in enumerate(pairs)]
    produce(kafka.bootstrap, topic, records, compression="gzip")
    if from_java:
        write_by_java(kafka, topic, from_java)
    found = read_all(kafka.bootstrap, topic)[0]
    assert [(one.key, one.value, one.headers) for one in found] == [
        *((one.key, one.value, tuple(one.headers)) for one in records),
        *OF_JAVA[: len(from_java)],
    ]
    return found


def write_by_java(kafka: Kafka, topic: str, lines: Sequence[str]) -> None:
    properties = {"parse.headers": "true", "parse.key": "true", "null.marker": "NULL"}
    kafka.run_tool(
        "org.apache.kafka.tools.ConsoleProducer",
        *("--bootstrap-server", kafka.bootstrap, "--topic", topic),
        *(word for name, value in properties.items() for word in ("--property", f"{name}={value}")),
        lines="".join(f"{line}\n" for line in lines),
    )


def text(records: Sequence[Record]) -> list[Any]:
    return [record.value for record in records if record.value is not None]


def escaped_text(records: Sequence[Record]) -> list[Any]:
    return [(record.value or b"").replace(b"\\", b"\\\\").replace(b"\n", b"\\n") for record in records]


def offsets_and_values(records: Sequence[Record]) -> list[Any]:
    return [(record.offset, record.value) for record in records if record.value is not None]


def maps_and_values(records: Sequence[Record]) -> list[Any]:
    return [
        ({1: record.offset, 3: record.timestamp} | ({} if record.key is None else {2: record.key}), record.value or b"")
        for record in records
    ]


def content(one: StoredObject) -> list[Any]:
    if not one.keys:
        return list(one.values)
    keys = [decode_map(key) if isinstance(key, bytes) else key for key in one.keys]
    return list(zip(keys, one.values, strict=True))


OUTPUTS: list[tuple[dict[str, Any], Callable[[Sequence[Record]], list[Any]]]] = [
    ({"text": {"compression": "gzip", "tombstones": "skip", "delimiter": RECORD_SEPARATOR}}, text),
    ({"text": {"compression": "zstd", "tombstones": "empty", "delimiterInValue": "escape"}}, escaped_text),
    ({"sequencefile": {"tombstones": "skip", "key": "longwritable"}}, offsets_and_values),
    ({"sequencefile": {"key": "messagepack", "compressionType": "record"}}, maps_and_values),
]
"""What is asked for, and what should then be stored of some records. Tombstones are left out or made empty by turns."""


def test_every_kind_in_every_format(scene: Scene, topic: CreateTopic, verify: Verify) -> None:
    """A topic for each output; then all are read back by what their revisions say, and one is cut off."""
    topics = [topic() for _ in OUTPUTS]
    records = [write_every_kind(scene.kafka, name, () if place else FROM_JAVA) for place, name in enumerate(topics)]
    overrides = [{"topics": [name], "output": output} for name, (output, _) in zip(topics, OUTPUTS, strict=True)]
    manifest = scene.manifest(kafka={"topics": topics}, overrides=overrides)
    scene.run_until_current(manifest)
    for name, written, (output, expected) in zip(topics, records, OUTPUTS, strict=True):
        delimiter = output.get("text", {}).get("delimiter", "\n").encode()
        (one,) = scene.bucket_at("raw", delimiter=delimiter).objects(name)
        assert content(one) == expected(written)
        counts = str(len(written)), str(sum(record.value is None for record in written))
        assert (one.metadata["records"], one.metadata["tombstones"]) == counts
    verify(manifest, "--deep", finds={}, compared=[len(written) for written in records])

    client, bucket = scene.bucket.client, scene.bucket.name
    (last,) = scene.bucket.objects(topics[-1])
    stored = client.get_object(Bucket=bucket, Key=last.key)
    cut = stored["Body"].read()[:-100]
    client.put_object(Bucket=bucket, Key=last.key, Body=cut, Metadata=stored["Metadata"])
    assert kinds(verify(manifest, "--deep", code=Exit.BROKEN)) == {("wrong-content", 0): 1}
    assert verify(manifest)["ok"], "names and facts are as they were"
