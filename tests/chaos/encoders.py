"""How producers write a reading, one class for each parser: by libraries of others, or by what a format's rule says."""

import base64
import random
from collections.abc import Callable, Mapping
from io import StringIO
from typing import Any, Final, NamedTuple, Protocol

import msgpack
import thriftpy2
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory
from thriftpy2.protocol import TCompactProtocolFactory
from thriftpy2.utils import serialize

_COMPACT: Any = TCompactProtocolFactory
Written = Mapping[str, Any]
"""A reading in what formats have: whole numbers, texts, doubles, bools, texts in a list, and a struct."""
COLUMNS: Final[tuple[dict[str, Any], ...]] = (
    {"name": "id", "type": "int64", "required": True},
    {"name": "shop", "type": "string"},
    {"name": "at", "type": "timestamp[ms]", "format": "epoch[ms]"},
    {"name": "price", "type": "decimal(9,2)"},
    {"name": "ratio", "type": "float64"},
    {"name": "ok", "type": "bool"},
)
NESTED: Final[tuple[dict[str, Any], ...]] = (
    {"name": "tags", "type": "list<string>"},
    {"name": "geo", "type": "struct<country: string, lat: float64>"},
)


class Bad(NamedTuple):
    """A value that is no row."""

    value: bytes
    reason: str


class Encoder(Protocol):
    """Writes readings for one parser."""

    value: Mapping[str, Any]
    """`spec.value`."""
    is_nested: bool
    """Whether there are columns that no text has."""

    def encode(self, row: Written) -> bytes:
        """Return a value; what is None or absent in the row is null."""

    def bad(self, good: bytes) -> list[Bad]:
        """Return what is broken as a whole, some of it made of a good value."""


class Protobuf:
    """Messages without a header, by Google's library."""

    is_nested = True

    def __init__(self) -> None:
        file = descriptor_pb2.FileDescriptorProto(name="reading.proto", package="chaos", syntax="proto2")
        kind, label = descriptor_pb2.FieldDescriptorProto, descriptor_pb2.FieldDescriptorProto.LABEL_OPTIONAL
        types = (kind.TYPE_INT64, kind.TYPE_STRING, kind.TYPE_INT64, kind.TYPE_STRING, kind.TYPE_DOUBLE, kind.TYPE_BOOL)
        reading, geo = file.message_type.add(name="Reading"), file.message_type.add(name="Geo")
        for number, (column, type_) in enumerate(zip(COLUMNS, types, strict=True), start=1):
            reading.field.add(name=column["name"], number=number, type=type_, label=label)
        reading.field.add(name="tags", number=7, type=kind.TYPE_STRING, label=kind.LABEL_REPEATED)
        reading.field.add(name="geo", number=8, type=kind.TYPE_MESSAGE, type_name=".chaos.Geo", label=label)
        geo.field.add(name="country", number=1, type=kind.TYPE_STRING, label=label)
        geo.field.add(name="lat", number=2, type=kind.TYPE_DOUBLE, label=label)
        text = base64.b64encode(descriptor_pb2.FileDescriptorSet(file=[file]).SerializeToString()).decode()
        read = {"message": "chaos.Reading", "schema": text, "fields": [*COLUMNS, *NESTED]}
        self.value: Mapping[str, Any] = {"protobuf": read}
        pool = descriptor_pool.DescriptorPool()
        pool.AddSerializedFile(file.SerializeToString())
        self._class = message_factory.GetMessageClass(pool.FindMessageTypeByName("chaos.Reading"))

    def encode(self, row: Written) -> bytes:
        told = {name: value for name, value in row.items() if value is not None}
        return json_format.ParseDict(told, self._class()).SerializeToString()

    def bad(self, good: bytes) -> list[Bad]:
        return [Bad(good + b"\x12", "not_protobuf"), Bad(b"\x12\x7fx", "not_protobuf"), Bad(b"", "missing")]


class Thrift:
    """Structs of the compact protocol, by thriftpy2."""

    is_nested = True
    _IDL = """
        struct Geo { 1: optional string country, 2: optional double lat }
        struct Reading {
          1: optional i64 id, 2: optional string shop, 3: optional i64 at, 4: optional string price,
          5: optional double ratio, 6: optional bool ok, 7: optional list<string> tags, 8: optional Geo geo
        }"""
    value: Mapping[str, Any] = {
        "thrift": {"protocol": "compact", "struct": "Reading", "idl": _IDL, "fields": [*COLUMNS, *NESTED]}
    }

    def __init__(self) -> None:
        self._module: Any = thriftpy2.load_fp(StringIO(self._IDL), "reading_thrift")

    def encode(self, row: Written) -> bytes:
        geo = self._module.Geo(**row["geo"]) if row.get("geo") else None
        content: bytes = serialize(self._module.Reading(**{**row, "geo": geo}), _COMPACT())
        return content

    def bad(self, good: bytes) -> list[Bad]:
        return [Bad(good[:-1], "not_thrift"), Bad(good + b"\0", "not_thrift"), Bad(b"\0", "missing")]


class MessagePack:
    """Maps, by the library of MessagePack's authors."""

    is_nested = True
    value: Mapping[str, Any] = {"messagepack": {"fields": [*COLUMNS, *NESTED]}}

    def encode(self, row: Written) -> bytes:
        content: bytes = msgpack.packb(dict(row))
        return content

    def bad(self, good: bytes) -> list[Bad]:
        whole = [Bad(good[:-1], "not_messagepack"), Bad(good + b"\0", "not_messagepack"), Bad(b"\7", "not_an_object")]
        return [*whole, Bad(self.encode({"id": "x"}), "wrong_type"), Bad(b"\x80", "missing")]


class Csv:
    """Records of RFC 4180, whose texts are in quotes."""

    is_nested = False
    value: Mapping[str, Any] = {"csv": {"delimiter": ";", "fields": COLUMNS}}

    def encode(self, row: Written) -> bytes:
        return ";".join(self._column(name, row.get(name)) for name in (column["name"] for column in COLUMNS)).encode()

    def _column(self, name: str, value: Any) -> str:
        text = _text(value)
        quoted = '"' + text.replace('"', '""') + '"'
        return quoted if name == "shop" and value is not None else text

    def bad(self, good: bytes) -> list[Bad]:
        lacks, more = Bad(good.rpartition(b";")[0], "too_few_columns"), Bad(good + b";", "too_many_columns")
        return [lacks, more, Bad(b'1;"', "not_csv"), Bad(b"x;;;;;", "bad_text"), Bad(b";;;;;", "missing")]


class Regex:
    """Lines that a pattern takes apart; `-` is null."""

    is_nested = False
    value: Mapping[str, Any] = {
        "regex": {
            "pattern": r'(?P<id>\S+) "(?P<shop>[^"]*)" (?P<at>\S+) (?P<price>\S+) (?P<ratio>\S+) (?P<ok>\S+)',
            "nullText": "-",
            "fields": COLUMNS,
        },
    }

    def encode(self, row: Written) -> bytes:
        told = {
            column["name"]: "-" if row.get(column["name"]) is None else _text(row[column["name"]]) for column in COLUMNS
        }
        return '{id} "{shop}" {at} {price} {ratio} {ok}'.format_map(told).encode()

    def bad(self, good: bytes) -> list[Bad]:
        whole = [Bad(good + b" x", "no_match"), Bad(b"", "no_match")]
        return [*whole, Bad(b'x "" - - - -', "bad_text"), Bad(b'- "" - - - -', "missing")]


def _text(value: Any) -> str:
    """Return a value as JSON would write it; null is the empty text."""
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


ENCODERS: Final[Mapping[str, Callable[[], Encoder]]] = {
    "protobuf": Protobuf,
    "thrift": Thrift,
    "messagepack": MessagePack,
    "csv": Csv,
    "regex": Regex,
}


def bad_value(encoder: Encoder, chance: random.Random, row: Written) -> Bad:
    """Return one that is broken, or whose price cannot be one."""
    of_price = [Bad(encoder.encode({**row, "price": "12345678.00"}), "overflow")]
    return chance.choice([*encoder.bad(encoder.encode(row)), *of_price])
