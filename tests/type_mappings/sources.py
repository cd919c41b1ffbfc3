"""What each type is read from: samples of each source, which the product takes or refuses."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgpack

from logpersister.records.type_layout import make_parser
from logpersister.schemas.written_column import WrittenColumn
from logpersister.values.avro import rows as avro_rows
from logpersister.values.avro.columns import columns_of as columns_of_avro
from logpersister.values.json.columns import columns_of as columns_of_json_schema
from logpersister.values.parser import Parsing
from logpersister.values.protobuf import rows as protobuf_rows
from logpersister.values.protobuf.columns import columns_of as columns_of_protobuf
from logpersister.values.row_schema import RowSchema
from logpersister.values.thrift.columns import columns_of as columns_of_thrift
from logpersister.values.thrift.source import ThriftSource
from tests.type_mappings.types import TYPES, column, named
from tests.unit.records.row_samples import batch_of_values

_OF_NUMBERS: Final = "epoch[ms]"
"""A notation by which timestamps are whole numbers."""


@dataclass(frozen=True)
class Source:
    """A form of values, with a sample of each of its types."""

    samples: Mapping[str, Any]
    """By what tables call the type."""
    fits: Callable[[RowSchema, Any], bool]
    """Whether a sample can be the column ``a`` of a schema."""
    implied: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """By type those that need no mention beside it."""
    declares: Callable[[Any], Sequence[WrittenColumn]] | None = None
    """Returns the columns that a sample declares where a schema of this source does."""

    def cell(self, name: str) -> str:
        """Return what of this source a type is read from; in bold what becomes the type by itself."""
        type_ = TYPES[name]
        found = self._fitting(column(type_))
        is_instant = type_.startswith("timestamp")
        numbers = [one for one in self._fitting(column(type_, _OF_NUMBERS)) if one not in found] if is_instant else []
        own = {
            one for one in found if self.declares is not None and name in _declared(self.declares(self.samples[one]))
        }
        left_out = self._implied(found) - own
        told = [f"**{one}**" if one in own else one for one in found if one not in left_out]
        if len(found) == len(self.samples) and len(told) > 1:
            return "any value"
        short = [one for one in numbers if one not in self._implied([*found, *numbers])]
        by_format = [f"by `format` {', '.join(short)}"] if short else []
        return ", ".join([*told, *by_format]) or ""

    def _implied(self, names: Sequence[str]) -> set[str]:
        return {inner for one in names for inner in self.implied.get(one, ())}

    def _fitting(self, schema: RowSchema) -> list[str]:
        return [one for one, sample in self.samples.items() if self.fits(schema, sample)]


def _declared(columns: Sequence[WrittenColumn]) -> set[str]:
    return {named(one.type) for one in columns if one.type is not None}


# by their values

_TEXTS: Final = {
    "number": "7.5", "date": "2026-11-21", "time": "05:00:00.5", "instant": "2026-11-21T05:00:00Z", "base64": "aGk=",
    "text": "x y",
}  # fmt: skip


def _parsed(parser: str, write: Callable[[Any], bytes]) -> Callable[[RowSchema, Any], bool]:
    def fits(schema: RowSchema, sample: Any) -> bool:
        made = make_parser(Parsing.model_validate({"type": parser}), schema, None)
        assert made is not None
        return made.parse(batch_of_values([write(sample)])).refused is None

    return fits


JSON: Final = Source(
    {
        "`true`, `false`": True, "whole number": 7, "number": 7.5, "number as text": _TEXTS["number"],
        "base64": _TEXTS["base64"], "`2026-11-21`": _TEXTS["date"], "`05:00:00.5`": _TEXTS["time"],
        "`2026-11-21T05:00:00Z`": _TEXTS["instant"], "text": _TEXTS["text"], "object": {"a": "x"}, "array": ["x"],
    },
    _parsed("json", lambda sample: json.dumps({"a": sample}).encode()),
    {
        "number": ["whole number"],
        "text": ["number as text", "base64", "`2026-11-21`", "`05:00:00.5`", "`2026-11-21T05:00:00Z`"],
    },
)  # fmt: skip

MESSAGEPACK: Final = Source(
    {
        "`true`, `false`": True, "integer": 7, "float": 7.5, "number as `str`": _TEXTS["number"],
        "`2026-11-21`": _TEXTS["date"], "`05:00:00.5`": _TEXTS["time"], "`2026-11-21T05:00:00Z`": _TEXTS["instant"],
        "`str`": _TEXTS["text"], "`bin` in UTF-8": b"x", "`bin`": b"\xff", "extension -1": msgpack.Timestamp(1),
        "`map`": {"a": "x"}, "`array`": ["x"],
    },
    _parsed("messagepack", lambda sample: bytes(msgpack.packb({"a": sample}))),
    {
        "`str`": ["number as `str`", "`2026-11-21`", "`05:00:00.5`", "`2026-11-21T05:00:00Z`"],
        "`bin`": ["`bin` in UTF-8"],
    },
)  # fmt: skip

# by their schemas


def _avro(sample: Any) -> str:
    return json.dumps({"type": "record", "name": "R", "fields": [{"name": "a", "type": sample}]})


def _logical(base: str, logical_type: str, **more: Any) -> Any:
    return {"type": base, "logicalType": logical_type, **more}


AVRO: Final = Source(
    {
        **{f"`{one}`": one for one in ("boolean", "int", "long", "float", "double", "string", "bytes")},
        "`fixed`": {"type": "fixed", "name": "F", "size": 16},
        "`enum`": {"type": "enum", "name": "E", "symbols": ["A"]},
        "`decimal`": _logical("bytes", "decimal", precision=12, scale=2),
        "`date`": _logical("int", "date"),
        "`time-millis`": _logical("int", "time-millis"),
        "`time-micros`": _logical("long", "time-micros"),
        "`timestamp-millis`": _logical("long", "timestamp-millis"),
        "`timestamp-micros`": _logical("long", "timestamp-micros"),
        "`timestamp-nanos`": _logical("long", "timestamp-nanos"),
        "`local-timestamp-…`": _logical("long", "local-timestamp-millis"),
        "`uuid`": _logical("string", "uuid"),
        "`uuid` as `fixed`": _logical("fixed", "uuid", name="U", size=16),
        "`record`": {"type": "record", "name": "I", "fields": [{"name": "a", "type": "string"}]},
        "`array`": {"type": "array", "items": "string"},
        "`map`": {"type": "map", "values": "string"},
    },
    lambda schema, sample: avro_rows.misfit(schema, _avro(sample)) is None,
    {
        "`int`": ["`date`", "`time-millis`"],
        "`long`": ["`time-micros`", "`timestamp-millis`", "`timestamp-micros`", "`timestamp-nanos`",
                   "`local-timestamp-…`"],
        "`string`": ["`uuid`"],
        "`bytes`": ["`decimal`"],
        "`fixed`": ["`uuid` as `fixed`"],
    },
    lambda sample: columns_of_avro(_avro(sample)),
)  # fmt: skip


def _proto(sample: str) -> str:
    imports = "".join(
        f'import "google/protobuf/{one}.proto";' for one in ("timestamp", "duration", "struct", "wrappers")
    )
    inside = "message I { string a = 1; } enum E { Z = 0; }"
    return f'syntax = "proto3"; {imports} message M {{ {sample} a = 1; {inside} }}'


PROTOBUF: Final = Source(
    {
        **{f"`{one}`": one for one in ("bool", "int32", "uint32", "int64", "uint64", "float", "double", "string",
                                       "bytes")},
        "enum": "E",
        "`Timestamp`": "google.protobuf.Timestamp",
        "`Struct`, `Value`": "google.protobuf.Struct",
        "message": "I",
        "`repeated`": "repeated string",
        "`map`": "map<string, string>",
    },
    lambda schema, sample: protobuf_rows.misfit(schema, _proto(sample)) is None,
    {"message": ["`Timestamp`", "`Struct`, `Value`"]},
    declares=lambda sample: columns_of_protobuf(_proto(sample), "M"),
)  # fmt: skip


def _idl(sample: str) -> str:
    return f"enum E {{ A = 1 }} struct I {{ 1: string a }} struct S {{ 1: {sample} a }}"


def _fits_thrift(schema: RowSchema, sample: str) -> bool:
    return not list(ThriftSource(_idl(sample), "S").unfit(schema.columns))


THRIFT: Final = Source(
    {
        **{f"`{one}`": one for one in ("bool", "i8", "i16", "i32", "i64", "double", "string", "binary")},
        "enum": "E",
        "struct": "I",
        "`list`": "list<string>",
        "`set`": "set<string>",
        "`map`": "map<string, string>",
        "`uuid`": "uuid",
    },
    _fits_thrift,
    declares=lambda sample: columns_of_thrift(_idl(sample), "S"),
)


def _json_schema(sample: Any) -> str:
    return json.dumps({"properties": {"a": sample}})


_SAMPLES_OF_JSON_SCHEMA: Final[Mapping[str, Any]] = {
    "`boolean`": {"type": "boolean"},
    "`integer`": {"type": "integer"},
    "`integer` with bounds beyond 64 bits": {"type": "integer", "maximum": 2**64},
    "`number`": {"type": "number"},
    "`string`": {"type": "string"},
    "`enum` of texts": {"enum": ["a", None]},
    "`string` with `contentEncoding: base64`": {"type": "string", "contentEncoding": "base64"},
    "format `date`": {"type": "string", "format": "date"},
    "format `date-time`": {"type": "string", "format": "date-time"},
    "`object` with `properties`": {"type": "object", "properties": {"a": {"type": "string"}}},
    "`object` with `additionalProperties`": {"type": "object", "additionalProperties": {"type": "string"}},
    "`array` with `items`": {"type": "array", "items": {"type": "string"}},
    "anything else": {"type": ["string", "array"]},
}


def of_json_schema(name: str) -> str:
    """Return what of JSON Schema declares a type."""
    declared = {one: _declared(columns_of_json_schema(_json_schema(x))) for one, x in _SAMPLES_OF_JSON_SCHEMA.items()}
    return ", ".join(one for one, names in declared.items() if name in names) or ""


SOURCES: Final[Mapping[str, Callable[[str], str]]] = {
    "JSON": JSON.cell,
    "JSON Schema": of_json_schema,
    "Avro": AVRO.cell,
    "protobuf": PROTOBUF.cell,
    "Thrift": THRIFT.cell,
    "MessagePack": MESSAGEPACK.cell,
}
"""By head of a column of the table, what returns the cell of a type."""
