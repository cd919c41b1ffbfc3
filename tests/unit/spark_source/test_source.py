"""What the data source says of a place or an option that is wrong."""

from typing import Any

import pytest
from pyspark.sql.datasource import EqualTo

from pyspark_logpersister.source import BackupReader


class Bucket:
    """A client of a bucket with some keys."""

    def __init__(self, *keys: str) -> None:
        self._keys = keys

    def get_paginator(self, _: str) -> "Bucket":
        return self

    def paginate(self, **asked: str) -> list[Any]:
        return [{"Contents": [{"Key": key} for key in self._keys if key.startswith(asked["Prefix"])]}]

    def close(self) -> None:
        """Nothing is open."""


def reader(monkeypatch: pytest.MonkeyPatch, *keys: str, **options: str) -> BackupReader:
    monkeypatch.setattr(BackupReader, "_client", lambda _: Bucket(*keys))
    return BackupReader({"path": "s3://backups/kafka", **options})


KEY = f"kafka/clicks/1_0_{0:020}.kafka"


def test_a_place_without_a_backup_is_no_empty_one(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(
        ValueError, match="s3://backups/kafka/ has no object of a backup; load the bucket and the prefix"
    ):
        reader(monkeypatch, "kafka/clicks/data.parquet", KEY.replace("kafka/", "other/", 1)).partitions()
    assert len(reader(monkeypatch, KEY).partitions()) == 1
    other = reader(monkeypatch, KEY)
    other.pushFilters([EqualTo(("topic",), "none")])
    assert other.partitions() == [], "a query of no topic has no rows"


def test_a_generation_is_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(reader(monkeypatch, KEY, generation="1").partitions()) == 1
    with pytest.raises(ValueError, match="option generation: 'two' is no number"):
        reader(monkeypatch, KEY, generation="two").partitions()
