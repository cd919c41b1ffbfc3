"""Readers of other projects: what each of them gives for a file, as plain values (`tests.readers.typed_rows`)."""

import re
from collections.abc import Sequence
from datetime import date, datetime, time
from pathlib import Path
from typing import Any, Final

import duckdb
import duckdb_extension_avro
import fastavro
import pyarrow.parquet as pq
from pyarrow import orc
from pyspark.sql import DataFrame, SparkSession

from tests.readers.arrow import rows_of
from tests.readers.typed_rows import EPOCH, Column

_SPARK: Final = {"int8": "tinyint", "int16": "smallint", "int32": "int", "int64": "bigint", "float32": "float"}
_SPARK_TYPES: Final = _SPARK | {"float64": "double", "bool": "boolean", "json": "string", "list": "array"}
_DUCKDB: Final = {"int8": "tinyint", "int16": "smallint", "int32": "int", "int64": "bigint", "float32": "float"}
_DUCKDB_TYPES: Final = _DUCKDB | {"float64": "double", "bool": "boolean", "binary": "varchar", "string": "varchar"}
_AVRO: Final = next(Path(duckdb_extension_avro.__file__).parent.rglob("*.duckdb_extension"))


def spark_type(type_: str) -> str:
    """Return a type of ``spec.value`` as Spark has it."""
    bare = re.sub(r"\[\w+\]| not null", "", type_)
    return re.sub(r"\w+", lambda word: _SPARK_TYPES.get(word[0], word[0]), bare)


def data_frame(spark: SparkSession, file_format: str, file: Path, columns: Sequence[Column] = ()) -> DataFrame:
    """Return the rows of a file; lines of JSON have the types of `columns`."""
    reader = spark.read
    if file_format == "jsonl":
        reader = reader.schema(", ".join(f"`{one.name}` {spark_type(one.type)}" for one in columns))
    return reader.format({"jsonl": "json"}.get(file_format, file_format)).load(str(file))


def by_spark(spark: SparkSession, file_format: str, file: Path, columns: Sequence[Column] = ()) -> list[Any]:
    """Return what Spark reads."""
    return rows_of(data_frame(spark, file_format, file, columns).toArrow())


def by_duckdb(file_format: str, file: Path, columns: Sequence[Column] = ()) -> list[Any]:
    """Return what DuckDB reads: Parquet, Avro, or lines of JSON with the types of `columns`."""
    if file_format != "jsonl":
        return duckdb_rows(f"from read_{file_format}('{file}')")
    types = ", ".join(f"{one.name}: '{_duckdb_type(one.type)}'" for one in columns)
    return duckdb_rows(f"from read_json('{file}', format = 'newline_delimited', columns = {{{types}}})")


def duckdb_rows(query: str) -> list[Any]:
    """Return what DuckDB answers; it looks for nothing on other machines."""
    with duckdb.connect(config={"autoinstall_known_extensions": "false"}) as connection:
        connection.execute("set timezone = 'UTC'")
        connection.load_extension(str(_AVRO))
        return rows_of(connection.sql(query).to_arrow_table())


def by_pyarrow(file_format: str, file: Path, _: Sequence[Column] = ()) -> list[Any]:
    """Return what pyarrow reads."""
    return rows_of(orc.read_table(file) if file_format == "orc" else pq.read_table(file))


def by_fastavro(_: str, file: Path, __: Sequence[Column] = ()) -> list[Any]:
    """Return what fastavro reads, in Python alone."""
    with file.open("rb") as content:
        return [plain(row) for row in fastavro.reader(content)]


def _duckdb_type(type_: str) -> str:
    bare = re.sub(r"\[\w+\]| not null", "", type_)
    return _nested(
        re.sub(r"\w+", lambda word: _DUCKDB_TYPES.get(word[0], word[0]), bare).replace("timestamp", "timestamptz")
    )


def _nested(type_: str) -> str:
    """Return a type as DuckDB writes it: ``T[]``, ``map(varchar, T)`` and ``struct(a T)``."""
    kind, _, inside = type_.partition("<")
    if not inside:
        return type_
    inside = inside.removesuffix(">")
    if kind == "list":
        return f"{_nested(inside)}[]"
    if kind == "map":
        return f"map(varchar, {_nested(inside.partition(',')[2].strip())})"
    members = re.split(r", (?=\w+: )", inside)
    return f"struct({', '.join(f'{name} {_nested(of)}' for name, _, of in (one.partition(': ') for one in members))})"


def plain(value: Any) -> Any:  # noqa: PLR0911  (one for each kind)
    """Return a value of Python as a plain one."""
    match value:
        case dict():
            return {name: plain(one) for name, one in value.items()}
        case list():
            return [plain(one) for one in value]
        case float():
            return value.hex()
        case datetime():
            return _nanoseconds(value)
        case date():
            return value.toordinal() - date(1970, 1, 1).toordinal()
        case time():
            return ((value.hour * 60 + value.minute) * 60 + value.second) * 10**9 + value.microsecond * 1000
        case _:
            return value


def _nanoseconds(instant: datetime) -> int:
    since = instant - EPOCH
    return (since.days * 86_400 + since.seconds) * 10**9 + since.microseconds * 1000
