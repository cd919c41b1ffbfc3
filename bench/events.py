"""JSON events of a shop, and their schema: texts, numbers, a timestamp, a struct, lists and a map."""

import io
import json
import random
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from typing import Any, Final

import fastavro
import msgpack
from google.protobuf import json_format, timestamp_pb2
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from logpersister.values.protobuf.text import read_text

WORDS: Final = ("checkout", "basket", "view", "click", "purchase", "refund")
CITIES: Final = ("Berlin", "Lyon", "Ky\u014dto", "K\u00f6ln")
COUNTRIES: Final = ("DE", "US", "FR", "JP")

SCHEMA: Final[Mapping[str, Any]] = {
    "fields": [
        {"name": "id", "type": "int64", "required": True},
        {"name": "at", "type": "timestamp[ms]", "required": True},
        {"name": "type", "type": "string"},
        {"name": "ok", "type": "bool"},
        {"name": "amount", "type": "float64"},
        {"name": "geo", "type": "struct<country: string, city: string, lat: float64, lon: float64>"},
        {"name": "user", "type": "string"},
        {"name": "tags", "type": "list<string>"},
        {"name": "attrs", "type": "map<string, string>"},
        {"name": "items", "type": "list<struct<sku: string, price: float64, qty: int32>>"},
        {"name": "message", "type": "string"},
    ]
}

FLAT: Final[Mapping[str, Any]] = {
    "fields": [
        one for one in SCHEMA["fields"] if one["name"] in ("id", "at", "type", "ok", "amount", "user", "message")
    ]
}
"""The fields of an event that lines of text can have."""
CSV_LINE: Final = '{id},{at},{type},{ok},{amount},{user},"{message}"'
LOG_LINE: Final = '{at} [{type}] {id} {user} ok={ok} amount={amount} "{message}"'
PATTERN: Final = (
    r"(?P<at>\S+) \[(?P<type>[a-z]+)\] (?P<id>\d+) (?P<user>[0-9a-f]+) ok=(?P<ok>\w+) "
    r'amount=(?P<amount>[\d.]+) "(?P<message>[^"]*)"'
)
"""Of a `LOG_LINE`."""

_OPTIONAL_TEXT: Final = ["null", "string"]
AVRO: Final[Mapping[str, Any]] = {
    "type": "record",
    "name": "Event",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "type", "type": _OPTIONAL_TEXT},
        {"name": "ok", "type": ["null", "boolean"]},
        {"name": "amount", "type": ["null", "double"]},
        {
            "name": "geo",
            "type": {
                "type": "record",
                "name": "Geo",
                "fields": [
                    {"name": "country", "type": "string"},
                    {"name": "city", "type": "string"},
                    {"name": "lat", "type": "double"},
                    {"name": "lon", "type": "double"},
                ],
            },
        },
        {"name": "user", "type": _OPTIONAL_TEXT},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
        {"name": "attrs", "type": {"type": "map", "values": "string"}},
        {
            "name": "items",
            "type": {
                "type": "array",
                "items": {
                    "type": "record",
                    "name": "Item",
                    "fields": [
                        {"name": "sku", "type": "string"},
                        {"name": "price", "type": "double"},
                        {"name": "qty", "type": "int"},
                    ],
                },
            },
        },
        {"name": "message", "type": _OPTIONAL_TEXT},
    ],
}
"""What a producer would have registered for the same events."""
PROTOBUF: Final = """syntax = "proto3"; import "google/protobuf/timestamp.proto";
message Event {
  int64 id = 1; google.protobuf.Timestamp at = 2; optional string type = 3; optional bool ok = 4;
  optional double amount = 5; Geo geo = 6; optional string user = 7; repeated string tags = 8;
  map<string, string> attrs = 9; repeated Item items = 10; optional string message = 11;
  message Geo { string country = 1; string city = 2; double lat = 3; double lon = 4; }
  message Item { string sku = 1; double price = 2; int32 qty = 3; }
}"""
"""The same as a message of protobuf."""
WRITER_ID: Final = 1
_WRITTEN: Final = fastavro.parse_schema(dict(AVRO))


def avro_event(text: str) -> bytes:
    """Return an event as a producer with a schema registry writes it."""
    document = {"items": [], **json.loads(text)}
    document["at"] = datetime.fromisoformat(document["at"])
    written = io.BytesIO(b"\0" + WRITER_ID.to_bytes(4, "big"))
    written.seek(0, io.SEEK_END)
    fastavro.schemaless_writer(written, _WRITTEN, document)
    return written.getvalue()


@cache
def _message_class() -> type[Message]:
    pool = DescriptorPool()
    pool.AddSerializedFile(timestamp_pb2.DESCRIPTOR.serialized_pb)
    pool.Add(read_text(PROTOBUF, "event.proto"))
    return GetMessageClass(pool.FindMessageTypeByName("Event"))


def protobuf_event(text: str) -> bytes:
    """Return an event as a producer with a schema registry writes it: the first message of its file."""
    message = json_format.ParseDict(json.loads(text), _message_class()())
    return b"\0" + WRITER_ID.to_bytes(4, "big") + b"\0" + message.SerializeToString()


def messagepack_event(text: str) -> bytes:
    """Return an event in MessagePack, its timestamp in MessagePack's own type."""
    document = json.loads(text)
    packed: bytes = msgpack.packb(document | {"at": datetime.fromisoformat(document["at"])}, datetime=True)
    return packed


def line_of(text: str, form: str) -> bytes:
    """Return an event as a line of as many bytes; what lines cannot have becomes more of the message."""
    document = json.loads(text) | {"ok": "true" if '"ok":true' in text else "false"}
    size = len(text.encode())
    without = len(form.format(**document | {"message": ""}))
    message = document["message"] + " lines have one text where values have lists and maps" * 20
    return form.format(**document | {"message": message[: size - without].ljust(size - without)}).encode()


def event(chance: random.Random, size: int) -> str:
    """Return an event of exactly this many bytes; the message is what is missing."""

    def word() -> str:
        return chance.choice(WORDS)

    place = {"country": chance.choice(COUNTRIES), "city": chance.choice(CITIES)}
    where = {"lat": _degrees(chance, 90), "lon": _degrees(chance, 180)}
    document = {
        "id": chance.getrandbits(40),
        "at": f"2026-11-21T{chance.randrange(24):02}:{chance.randrange(60):02}:{chance.random() * 59:06.3f}Z",
        "type": word(),
        "ok": chance.random() < 0.7,
        "amount": round(chance.random() * 1000, 2),
        "geo": place | where,
        "user": f"{chance.getrandbits(128):032x}",
        "tags": [word() for _ in range(chance.randrange(1, 4))],
        "attrs": {name: word() for name in chance.sample(("ab", "cd", "campaign", "source"), 1)},
    }
    if size >= 800:
        document["items"] = [
            {"sku": f"SKU-{chance.randrange(10**6):06}", "price": round(chance.random() * 500, 2), "qty": number}
            for number in range(1, chance.randrange(5, 8))
        ]
    text = _text(document)[:-1] + ',"message":"'
    words = ""
    while len(words) < size:
        words += f"{word()}={chance.randrange(100_000)} "
    left = size - len(text.encode()) - 2
    return f'{text}{words[:left]}"}}'


def nested_event(chance: random.Random, size: int) -> str:
    """Return an event of exactly this many bytes, most of it a list of structs."""
    document = json.loads(event(chance, 800))
    one = {"sku": "SKU-000000", "price": 100.25, "qty": 1}
    room = size - len(_text(document | {"items": [], "message": ""})) - 1
    many = room // (len(_text(one)) + 1) - 1
    document["items"] = [one | {"sku": f"SKU-{chance.randrange(10**6):06}"} for _ in range(many)]
    document["message"] = ""
    document["message"] = "m" * (size - len(_text(document).encode()))
    return _text(document)


def _degrees(chance: random.Random, most: int) -> float:
    return round(chance.uniform(-most, most), 6)


def _text(document: Mapping[str, Any]) -> str:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))
