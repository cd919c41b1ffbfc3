"""Null, absent, empty and tombstone stay apart, through every parser and format, for readers of other projects."""

import io
import json
from base64 import b64decode
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import fastavro
import msgpack
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

from tests.readers import sequencefile
from tests.unit.formats.events import files
from tests.unit.formats.samples import Record, batch
from tests.unit.manifest.documents import accepted
from tests.unit.records.avro_samples import encoded

Row = dict[str, Any]
Values = Sequence[tuple[bytes | None, Any]]
"""Each with what becomes of it: a row, a reason and a field, or without a schema itself (None)."""

NONE: Final[Row] = {"id": 1, "s": None, "n": None, "l": None, "g": None}
ABSENT: Final[Row] = NONE | {"s": "web"}
EMPTY: Final[Row] = {"id": 1, "s": "", "n": "", "l": [], "g": {"a": None}}
INSIDE: Final[Row] = {"id": 1, "s": "null", "n": "null", "l": [None, ""], "g": {"a": ""}}
FIELDS: Final[list[Row]] = [
    {"name": "id", "type": "int64", "required": True}, {"name": "s", "type": "string", "default": "web"},
    {"name": "n", "type": "string"}, {"name": "l", "type": "list<string>"}, {"name": "g", "type": "struct<a: string>"},
]  # fmt: skip
NO_ID, NO_TEXT = ("missing", "id"), ("bad_text", "id")
NO_OBJECT, FEW = ("not_an_object", None), ("too_few_columns", None)
DOCUMENTS: Final[list[tuple[Any, Any]]] = [
    (NONE, NONE), ({"id": 1}, ABSENT), (EMPTY, EMPTY), ({**EMPTY, "g": {}}, EMPTY), (INSIDE, INSIDE),
    ({}, NO_ID), ({"id": None}, NO_ID), (None, NO_OBJECT), ("", NO_OBJECT), ([], NO_OBJECT),
]  # fmt: skip


def _avro(*fields: tuple[str, Any, Any]) -> Row:
    told = [{"name": name, "type": type_, "default": default} for name, type_, default in fields]
    return {"type": "record", "name": "R", "fields": [{"name": "id", "type": "long"}, *told]}


G: Final[Row] = {"type": "record", "name": "G", "fields": [{"name": "a", "type": ["null", "string"]}]}
READER: Final[Row] = _avro(
    ("s", ["string", "null"], "web"), ("n", ["null", "string"], None),
    ("l", ["null", {"type": "array", "items": ["null", "string"]}], None), ("g", ["null", G], None),
)  # fmt: skip
PROTO: Final = """syntax = "proto3"; message M {
    int64 id = 1; optional string s = 2; string n = 3; repeated string l = 4; G g = 5;
    message G { optional string a = 1; } }"""
ZEROS: Final[Row] = {"id": 1, "s": None, "n": "", "l": [], "g": None}
IDL: Final = """struct G { 1: optional string a } struct S { 1: required i64 id, 2: optional string s = "web",
    3: optional string n, 4: optional list<string> l, 5: optional G g }"""
THRIFT_ID: Final = b"\x0a\0\1" + bytes(7) + b"\1"
THRIFT_EMPTY: Final = b"\x0b\0\2\0\0\0\0\x0b\0\3\0\0\0\0\x0f\0\4\x0b\0\0\0\0\x0c\0\5\0\0"
TEXTS: Final[Row] = {"fields": [FIELDS[0], {"name": "s", "type": "string"}, {"name": "n", "type": "string"}]}
REGEX: Final = {"pattern": r"(?P<id>\d*),(?P<s>[^,]*)(?:,(?P<n>.*))?", "nullText": "-"}


def _texts(s: str | None, n: str | None) -> Row:
    return {"id": 1, "s": s, "n": n}


CASES: Final[Mapping[str, tuple[str, Row, Values]]] = {
    "bytes": ("bytes", {}, [(b"", None), (b"null", None), (b" ", None)]),
    "documents": ("json", {},
        [*((one, None) for one in (b"null", b" null\n", b'""', b'"null"', b"{}", b"[]")), (b"", ("not_json", None))]),
    "json": ("json", {"fields": FIELDS},
        [*((json.dumps(one).encode(), row) for one, row in DOCUMENTS), (b"", ("not_json", None))]),
    "messagepack": ("messagepack", {"fields": FIELDS},
        [*((msgpack.packb(one), row) for one, row in DOCUMENTS), (b"", ("not_messagepack", None))]),
    "avro": ("avro", {"schema": json.dumps(READER)},
        [*((encoded(READER, one)[5:], one) for one in (NONE, EMPTY, INSIDE)), (b"", ("not_avro", None))]),
    "avro of a writer of less": ("avro", {"schema": json.dumps(READER), "writer": json.dumps(_avro())},
        [(b"\2", ABSENT), (b"", ("not_avro", None))]),
    "protobuf": ("protobuf", {"schema": PROTO},
        [(b"", ZEROS | {"id": 0}), (b"\x08\1", ZEROS), (b"\x08\1\x2a\2\x0a\0", ZEROS | {"g": {"a": ""}}),
         (b"\x08\1\x12\0\x1a\0\x22\0\x2a\0", EMPTY | {"l": [""]})]),
    "thrift": ("thrift", {"idl": IDL, "struct": "S"},
        [(THRIFT_ID + b"\0", ABSENT), (THRIFT_ID + THRIFT_EMPTY, EMPTY), (THRIFT_EMPTY, NO_ID), (b"\0", NO_ID),
         (b"", ("not_thrift", None))]),
    "csv": ("csv", TEXTS,
        [(b"1,,", _texts(None, None)), (b'1,"",""', _texts("", "")), (b"1,null,NULL", _texts("null", "NULL")),
         (b",,", NO_ID), (b"1,", FEW), (b"", FEW)]),
    "csv with a text for null": ("csv", TEXTS | {"nullText": "NULL"},
        [(b"1,NULL,", _texts(None, "")), (b'1,"NULL",""', _texts("NULL", "")), (b"NULL,,", NO_ID), (b",,", NO_TEXT)]),
    "regex": ("regex", TEXTS | REGEX,
        [(b"1,-,-", _texts(None, None)), (b"1,", _texts("", None)), (b"1,,", _texts("", "")), (b",,", NO_TEXT),
         (b"", ("no_match", None))]),
}  # fmt: skip
DELIMITER: Final = "<end>\n"
READERS: Final[Mapping[str, Callable[[io.BytesIO], list[Any]]]] = {
    "text": lambda file: file.read().split(DELIMITER.encode())[:-1],
    "sequencefile": lambda file: sequencefile.read(file.read()).values,
    "jsonl": lambda file: [json.loads(line) for line in file],
    "parquet": lambda file: pq.read_table(file).to_pylist(),
    "orc": lambda file: orc.ORCFile(file).read().to_pylist(),
    "avro": lambda file: list(fastavro.reader(file)),
}
SETTINGS: Final[Mapping[str, Any]] = {"text": {"delimiter": DELIMITER}, "jsonl": {"kafkaColumns": []}}


def _refused(row: Any) -> Any:
    """Return value, reason and field, whatever the format is; the value alone where it has no more."""
    if isinstance(row, bytes):
        return row
    value = row["value"] if "value" in row else b64decode(row["value_base64"])
    return (value.encode() if isinstance(value, str) else value), (row["reason"], row["field"])


@pytest.mark.parametrize("file_format", READERS)
@pytest.mark.parametrize("name", CASES)
def test_null_absent_empty_and_tombstone_stay_apart(name: str, file_format: str) -> None:
    """But for formats without null, in which an empty value may stand for a tombstone."""
    kind, block, cases = CASES[name]
    has_rows = file_format not in ("text", "sequencefile")
    values = [(None, None), *cases, (None, None)]

    def stored(tombstones: str, some: Values) -> dict[str, list[Any]]:
        settings = {**SETTINGS.get(file_format, {}), "compression": "none", "tombstones": tombstones}
        spec = accepted({"spec.value": {kind: block}, "spec.output": {file_format: settings}}).spec
        records = batch([Record(offset, 5, None, value) for offset, (value, _) in enumerate(some)])
        written = files(spec.output, [records], spec.row_schema, spec.parser)
        return {path: READERS[file_format](io.BytesIO(content)) for path, content in written.items()}

    def expected(value: bytes | None, row: Any) -> Any:
        if not has_rows:
            return value or b""
        if block:
            return row or dict.fromkeys(next(one for _, one in cases if isinstance(one, dict)))
        if file_format != "jsonl":
            return {"value": value}
        if kind == "json":
            return {} if value is None else {"value": json.loads(value)}
        return {"value": None if value is None else value.decode()}

    refused = [one for one in values if isinstance(one[1], tuple)]
    for choice in ("skip", "null" if has_rows else "empty"):
        good = [one for one in values if one not in refused and (choice != "skip" or one[0] is not None)]
        found, rows = stored(choice, values), [expected(*one) for one in good]
        assert found.pop("") == rows
        assert choice != "null" or rows.count(expected(None, None)) == 2, "only tombstones look like one"
        kept = [_refused(one) for one in found.pop("_quarantine", [])]
        assert (kept, found) == (refused if has_rows else [value for value, _ in refused], {})
    assert stored("skip", values[:1]) == {"": []}, "a file without rows"
