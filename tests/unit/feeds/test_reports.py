"""The page on feeds says what metrics, status and records have; the status names the worst feeds, and few."""

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from logpersister.feeds.collector import Collector
from logpersister.feeds.reports import WORST, FeedMetrics, Parts, status_document
from logpersister.feeds.sender import SentCounts
from logpersister.feeds.spool import Spool
from logpersister.manifest.blocks.feeds import CollectorSpec, ContentSpec, FeedSpec
from tests.unit.feeds.test_polled_feed import World, answer, feed

PAGE = (Path(__file__).parents[3] / "docs" / "feeds.md").read_text()


def first_cells(after: str) -> set[str]:
    """Return the words in code marks of the first column of the table after a text."""
    table = PAGE.partition(after)[2].lstrip().partition("\n\n")[0]
    return {
        word for row in re.findall(r"^\| ([^|]*) \|", table, re.MULTILINE) for word in re.findall(r"`([^`]+)`", row)
    }


@pytest.fixture
def parts(tmp_path: Path) -> Iterator[Parts]:
    spool = Spool(tmp_path / "spool", 2**20, "dropOldest")
    yield Parts([feed(f"f{number}", number) for number in range(50)], spool, SentCounts())
    spool.close()


def test_every_metric_is_described(parts: Parts) -> None:
    metrics = FeedMetrics("prices", "one", parts)
    named = set()
    for family in metrics.registry.collect():
        suffix = {"counter": "_total", "info": "_info"}.get(family.type, "")
        named.add(family.name + suffix)
    assert first_cells("(images/collector.png)") == named


def test_every_field_of_the_status_is_described(parts: Parts) -> None:
    document = status_document("prices", "one", 0.0, FeedMetrics("prices", "one", parts), parts)
    assert first_cells("`/status` has:") == set(document)
    for group in ("kafka", "records", "spool", "feeds"):
        assert set(document[group]) <= set(re.findall(r"`(\w+)", PAGE)), group


def test_every_field_of_the_manifest_is_described() -> None:
    names = {field.alias or name for name, field in FeedSpec.model_fields.items()} - {"content"}
    names |= {f"content.{field.alias or name}" for name, field in ContentSpec.model_fields.items()}
    assert first_cells("## Fields") == names
    described = first_cells("proxy of its own |") | first_cells("ReplicasReady   2m\n```")
    spec = {field.alias or name for name, field in CollectorSpec.model_fields.items()} - {"feeds"}
    assert {name.partition(".")[0] for name in described} == spec


def test_every_header_is_described() -> None:
    polled = feed(content={"jsonPointer": "/a"}, postfix=".json")
    body = answer(b'{"a": 1}', content_type="application/json", etag='"1"')
    polled.take(answer(status=503), "one", 0.0, 0.0)
    record = polled.take(body, "one", 1.0, 1.0).record
    assert record is not None
    headers = set(re.findall(r"`([\w-]+)`", PAGE.partition("## Records")[2].partition("- What equals")[0]))
    assert {name for name, _ in record.headers} == headers


def test_the_status_names_the_worst_and_few(parts: Parts) -> None:
    metrics = FeedMetrics("prices", "one", parts)
    now = time.monotonic()
    for number, one in enumerate(parts.feeds):
        one.new_since, one.reason, one.is_silent = now - number, "failed", number in {3, 4}
    document = status_document("prices", "one", 0.0, metrics, parts)["feeds"]
    assert (document["total"], document["silent"], document["failing"]) == (50, 2, 50)
    assert [one["id"] for one in document["worst"]][:4] == ["f4", "f3", "f49", "f48"]
    assert len(document["worst"]) == WORST
    assert document["worst"][0]["newAt"] is None, "it has given nothing yet"


def test_polls_are_counted(parts: Parts) -> None:
    metrics = FeedMetrics("prices", "one", parts)
    world = World(lambda _: (0.01, answer()))
    Collector(parts.feeds, "one", 50, world, world, metrics).begin_all(world.now)
    while world.running:
        world.turn(1.0)
    text = metrics.render()[0].decode()
    assert 'logpersister_feed_polls_total{result="new"} 50.0' in text
    assert "logpersister_feed_running_polls 0.0" in text
    assert metrics.totals["new"] == 50
