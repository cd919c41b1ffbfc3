"""What each type becomes in files and tables, as files and tables have it."""

import io
import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import orc
from pyiceberg.io.pyarrow import pyarrow_to_schema

from logpersister.formats.avro.schema import schema_text
from logpersister.formats.parquet.field_ids import id_paths, with_field_ids
from logpersister.manifest.blocks.output import OutputSpec
from logpersister.manifest.blocks.table import TableSpec
from logpersister.manifest.rules.format_limits import format_findings
from logpersister.manifest.rules.hive_types import hive_type
from logpersister.manifest.rules.table_rules import refusal
from logpersister.values.reading.columns import row_columns
from tests.type_mappings.types import TYPES, column
from tests.unit.formats.events import files
from tests.unit.formats.samples import Record, batch

_OF_ORC: Final = {
    "int8": "tinyint",
    "int16": "smallint",
    "int32": "int",
    "int64": "bigint",
    "bool": "boolean",
    "date32": "date",
    "decimal128": "decimal",
    "timestamp": "timestamp with local time zone",
}
"""Types of ORC by those of Arrow, where the names differ."""
_VALUES: Final[Mapping[str, Any]] = {
    "bool": True,
    "decimal(p,s)": 7.5,
    "string": "x",
    "binary[base64]": "aGk=",
    "date": "2026-11-21",
    **dict.fromkeys(("time[ms]", "time[us]"), "05:00:00.5"),
    **{f"timestamp[{unit}]": "2026-11-21T05:00:00Z" for unit in ("s", "ms", "us", "ns")},
    **dict.fromkeys(("float32", "float64"), 7.5),
    "json": {"a": [1.50]},
    "struct<a: T>": {"a": "x"},
    "list<T>": ["x"],
    "map<string, T>": {"k": "x"},
}
"""Samples by type; of the others a whole number."""


def _file(name: str, file_format: str) -> bytes:
    """Return a file of one row."""
    value = json.dumps({"a": _VALUES.get(name, 7)}).encode()
    settings = {} if file_format in ("parquet", "orc") else {"compression": "none"}
    output = OutputSpec.model_validate({file_format: settings})
    [content] = files(output, [batch([Record(0, 0, None, value)])], column(TYPES[name])).values()
    return content


def _parquet(name: str) -> str:
    schema = pq.ParquetFile(io.BytesIO(_file(name, "parquet"))).schema
    if schema.column(0).path != "a":
        top = str(schema).split("{", 1)[1].splitlines()[1]
        return f"group{' ' + top.partition('(')[2].partition(')')[0].upper() if '(' in top else ''}"
    leaf = schema.column(0)
    logical = json.loads(leaf.logical_type.to_json())
    kind = str(logical["Type"]).upper()
    inside = {
        "INT": lambda: f"({logical['bitWidth']})",
        "TIME": lambda: f"({_unit(logical)})",
        "TIMESTAMP": lambda: f"({_unit(logical)}, UTC)",
    }.get(kind, lambda: "")()
    return leaf.physical_type + ("" if kind == "NONE" else f", {kind}{inside}")


def _unit(logical: Mapping[str, Any]) -> str:
    return str(logical["timeUnit"]).upper().replace("SECONDS", "S")


def _orc(name: str) -> str:
    [one] = column(TYPES[name]).columns
    if [*format_findings("orc", [one])]:
        return ""
    found = re.split(r"\W", str(orc.ORCFile(io.BytesIO(_file(name, "orc"))).schema.field(0).type))[0]
    return _OF_ORC.get(found, found)


def _avro(name: str) -> str:
    [field] = json.loads(schema_text(row_columns(column(TYPES[name]))))["fields"]
    found = field["type"][1]  # beside null
    if isinstance(found, str):
        return f"`{found}`"
    logical = found.get("logicalType")
    return f"`{found['type']}`" + (f", `{logical}`" if logical else "")


def _jsonl(name: str) -> str:
    line = _file(name, "jsonl").decode().splitlines()[0]
    value = line.removeprefix('{"a":').removesuffix("}")
    return f"`{value}`"


def _iceberg(name: str) -> str:
    schema = column(TYPES[name])
    if _refused(name, "iceberg"):
        return ""
    plain = pa.schema([one.remove_metadata() for one in row_columns(schema)])
    numbers = {path: number for number, path in enumerate(id_paths(plain), 1)}
    found = str(pyarrow_to_schema(with_field_ids(plain, numbers)).fields[0].field_type)
    return f"`{found.partition('<')[0].partition('(')[0]}`"


def _hive(name: str) -> str:
    if _refused(name, "hive"):
        return ""
    [one] = column(TYPES[name]).columns
    found = hive_type(one.type, "parquet").replace("12,2", "p,s")
    return f"`{re.sub('(?<=[:,<])string(?=>)', 'T', found)}`"


def _refused(name: str, table_format: str) -> bool:
    table = {"name": "a.b", "format": table_format, "catalog": {"type": "glue", "warehouse": "s3://a/b"}}
    return refusal(column(TYPES[name]).columns[0], TableSpec.model_validate(table), "parquet") is not None


TARGETS: Final[Mapping[str, Callable[[str], str]]] = {
    "Parquet": _parquet,
    "ORC": _orc,
    "Avro files": _avro,
    "jsonl": _jsonl,
    "Iceberg": _iceberg,
    "Hive over Parquet": _hive,
}
"""By head of a column of the table, what returns the cell of a type."""
