"""Spark passes over `_quarantine` when it reads a topic, and reads it when it is named: as docs/parsers.md says."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

from logpersister.records.escaping import QUARANTINE

FILE = "1_0_00000000000000000000.txt"


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    settings = {"spark.ui.enabled": "false", "spark.pyspark.python": sys.executable, "spark.driver.host": "127.0.0.1"}
    context = SparkContext(master="local[1]", appName="tests", conf=SparkConf().setAll(list(settings.items())))
    yield SparkSession(context)
    context.stop()


@pytest.fixture(params=["", "dt=2026-11-21"], ids=["no-folders", "by-day"])
def topic(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A topic as it stands in the bucket, with good records and bad ones."""
    folder = tmp_path / "clicks"
    for path, text in ((request.param, "good\n"), (QUARANTINE, "bad\n")):
        (folder / path).mkdir(parents=True, exist_ok=True)
        (folder / path / FILE).write_text(text)
    return folder


def test_data_frames(spark: SparkSession, topic: Path) -> None:
    def values(path: Path) -> list[str]:
        return [row.value for row in spark.read.text(str(path)).collect()]

    assert values(topic) == ["good"]
    assert values(topic / QUARANTINE) == ["bad"]


def test_hadoop_s_input_formats(spark: SparkSession, topic: Path) -> None:
    lines = spark.sparkContext.textFile
    if (topic / FILE).exists():
        assert lines(f"{topic}/*.txt").collect() == ["good"]
    else:
        assert lines(f"{topic}/*").collect() == ["good"]
    assert lines(f"{topic}/{QUARANTINE}/*").collect() == ["bad"]
