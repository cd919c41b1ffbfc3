"""What types are in Hive's words, by format."""

from typing import Any

import pytest

from logpersister.manifest.blocks.output import Format
from logpersister.manifest.rules.hive_types import hive_type
from logpersister.schemas.types import parse_type
from logpersister.tables.hive.columns import columns_of
from tests.unit.tables.hive.fakes import BY_DAY, manifest


@pytest.mark.parametrize(
    ("type_", "parquet", "avro", "jsonl", "orc"),
    [
        ("int8", "tinyint", "int", "tinyint", "tinyint"),
        ("decimal(10,2)", "decimal(10,2)", "decimal(10,2)", "decimal(10,2)", "decimal(10,2)"),
        ("binary[base64]", "binary", "binary", "string", "binary"),
        ("time[us]", None, None, "string", None),
        ("timestamp[ms]", "timestamp", "timestamp", "string", "timestamp"),
        ("timestamp[us]", "timestamp", None, "string", "timestamp"),
        ("timestamp[ns]", None, None, "string", None),
        ("json", "string", "string", None, "string"),
        ("list<bool not null>", "array<boolean>", "array<boolean>", "array<boolean>", "array<boolean>"),
        (
            "map<string, int16>",
            "map<string,smallint>",
            "map<string,int>",
            "map<string,smallint>",
            "map<string,smallint>",
        ),
        ("struct<A: string, b: int32 not null>", *["struct<a:string,b:int>"] * 4),
    ],
)
def test_a_type_in_hives_words(
    type_: str, parquet: str | None, avro: str | None, jsonl: str | None, orc: str | None
) -> None:
    formats: dict[Format, str | None] = {"parquet": parquet, "avro": avro, "jsonl": jsonl, "orc": orc}
    for file_format, expected in formats.items():
        if expected is None:
            with pytest.raises(ValueError, match="has nothing for"):
                hive_type(parse_type(type_), file_format)
        else:
            assert hive_type(parse_type(type_), file_format) == expected


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ({"text": {}}, [("value", "string")]),
        ({"sequencefile": {}}, [("value", "string")]),
        ({"parquet": {}}, [("value", "binary")]),
        ({"orc": {"kafkaColumns": ["timestamp"]}}, [("value", "binary"), ("kafka_timestamp", "timestamp")]),
        (
            {"avro": {"kafkaColumns": ["offset", "timestamp", "headers"]}},
            [
                ("value", "binary"),
                ("kafka_offset", "bigint"),
                ("kafka_timestamp", "timestamp"),
                ("kafka_headers", "array<struct<key:binary,value:binary>>"),
            ],
        ),
    ],
)
def test_columns_of_values_as_they_are(output: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    resource = manifest(value={"bytes": {}}, output=output | {"partitionBy": BY_DAY})
    assert list(columns_of(resource).files) == expected


def test_columns_of_rows_are_in_lower_case_and_folders_are_beside_them() -> None:
    found = columns_of(manifest())
    assert (found.files, found.folders) == ((("userid", "bigint"), ("at", "timestamp")), ("dt",))


def test_the_note_of_columns_depends_on_all_that_a_table_is_checked_for() -> None:
    one = columns_of(manifest())
    others = [
        columns_of(manifest(output={"avro": {}, "partitionBy": BY_DAY})),
        columns_of(manifest(output={"parquet": {}})),
        columns_of(manifest(value={"json": {"fields": [{"name": "userId", "type": "int32"}]}})),
    ]
    assert len({one.digest("a.b"), one.digest("a.c"), *(other.digest("a.b") for other in others)}) == 5
