"""The manifests of examples/ for values that need no registry: rows, quarantine, what commands say of both."""

from collections import Counter
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import msgpack

from logpersister.cli import main
from logpersister.cli.exits import Exit
from tests.integration.harness.examples import example
from tests.integration.harness.scene import CreateTopic, Scene
from tests.integration.harness.verification import Verify
from tests.stack.topics import Record, produce

NOON = datetime(2026, 11, 24, 12, tzinfo=UTC)
NOON_IN_TEXT = "2026-11-24T12:00:00.000Z"
GOOD: dict[str, tuple[bytes, dict[str, Any]]] = {
    "messagepack": (
        msgpack.packb({"sensor": 7, "at": NOON, "celsius": 20, "tags": {"a": "b"}, "raw": b"\xff"}, datetime=True),
        {"sensor": 7, "at": NOON, "celsius": 20.0, "tags": [("a", "b")], "raw": b"\xff"},
    ),
    "thrift": (
        bytes.fromhex("160e1680e8ead6c1681504192c1803612d3100180162170000000000000440001b01580e017800"),
        {
            "id": 7,
            "at": NOON,
            "state": "PAID",
            "items": [{"sku": "a-1", "price": None}, {"sku": "b", "price": 2.5}],
            "notes": [("7", "x")],
        },
    ),
    "avro-plain": (
        bytes.fromhex("0e80e8ead6c16802027d"),
        {"id": 7, "at": NOON, "price": Decimal("1.25"), "channel": "web"},
    ),
    "csv": (
        b'7;1795521600;till 3;1234.50;True;"a ""b"";\n"\r\n',
        {"id": 7, "at": NOON, "amount": Decimal("1234.50"), "paid": True, "comment": 'a "b";\n'},
    ),
    "regex": (
        b'2026-11-24T13:00:00+01:00 ::1 "GET /a?b=1 HTTP/1.1" 204 -',
        {"at": NOON_IN_TEXT, "client": "::1", "method": "GET", "path": "/a?b=1", "status": 204, "bytes": None},
    ),
}
BAD = {
    "messagepack": {b"": "not_messagepack", b"\x80": "missing", b"\x81\xa6sensor\xcb" + bytes(8): "wrong_type"},
    "thrift": {b"": "not_thrift", b"\0": "missing", b"\x15\x0e\0": "wrong_type"},
    "avro-plain": {b"": "not_avro", b"\x0e": "not_avro", bytes.fromhex("0e80e8ead6c16806"): "not_avro"},
    "csv": {b'1;2;3;4;5;"': "not_csv", b"1;2": "too_few_columns", b"1;2;3;4.001;;": "overflow"},
    "regex": {b"GET /": "no_match", b'yesterday x "GET / " 200 1': "bad_text", b"\xff": "not_utf8"},
}


def test_examples(scene: Scene, topic: CreateTopic, verify: Verify, capsys: Any) -> None:
    """Each for a topic of its own, in one group."""
    topics = {of: topic(1) for of in GOOD}
    for of, name in topics.items():
        values = [GOOD[of][0]] * 100
        for place, bad in enumerate(BAD[of]):
            values.insert(20 * place, bad)
        produce(scene.kafka.bootstrap, name, (Record(one, b"key") for one in [*values, None]))
    overrides = [{"topics": [name], **example(of)} for of, name in topics.items()]
    manifest = scene.manifest(kafka={"topics": [*topics.values()]}, overrides=overrides)
    scene.run_until_current(manifest)

    document = verify(manifest, "--deep", finds={})
    assert {one["topic"]: one["compared"] for one in document["topics"]} == {
        name: 100 + len(BAD[of]) + 1 for of, name in topics.items()
    }
    for of, name in topics.items():
        row, reasons = GOOD[of][1], BAD[of].values()
        assert scene.bucket.rows_and_reasons(name) == ([row] * 100, Counter(reasons)), of
        on_topic = ["-f", str(manifest), "--topic", name]
        assert main(["quarantine", "ls", *on_topic]) == Exit.OK
        listed = capsys.readouterr().out
        assert all(reason in listed for reason in reasons), of
        assert main(["try", *on_topic, "--rows", "1"]) == Exit.OK
        shown = capsys.readouterr().out
        assert all(told in shown for told in [*reasons, *row]), of
