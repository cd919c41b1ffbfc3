"""The manifest of feeds: what it says, and what it refuses with a remedy."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from logpersister.manifest import FeedCollector, ManifestError, load_collector
from logpersister.manifest.load import parse_collector

ROOT = Path(__file__).parents[3]


def document(*feeds: dict[str, Any], **spec: Any) -> str:
    base = {"id": "prices", "url": "https://shop.example.com/prices.json", "periodicity": "5s"}
    return yaml.safe_dump(
        {
            "apiVersion": "logpersister.dev/v1alpha1",
            "kind": "FeedCollector",
            "metadata": {"name": "prices"},
            "spec": {
                "feeds": [base | one for one in feeds or ({},)],
                "kafka": {"bootstrapServers": "kafka:9092", "topic": "feeds"},
                **spec,
            },
        }
    )


def accepted(*feeds: dict[str, Any], **spec: Any) -> FeedCollector:
    return parse_collector(document(*feeds, **spec))


def test_the_example_is_accepted() -> None:
    collector = load_collector(ROOT / "examples" / "feeds.yaml", {})
    assert len(collector.spec.feeds) > 1


def test_a_feed_needs_little() -> None:
    [feed] = accepted().spec.feeds
    assert (feed.method, feed.timeout.total_seconds(), feed.postfix, feed.content.types) == ("GET", 30, "", ())


def test_references_to_secrets_are_left_to_those_who_need_them() -> None:
    headers = {"Authorization": "Bearer ${secret:shop/token}", "X-Zone": "${ZONE}"}
    collector = parse_collector(document({"headers": headers}), None, {"ZONE": "eu"})
    assert collector.spec.feeds[0].headers == {"Authorization": "Bearer ${secret:shop/token}", "X-Zone": "eu"}


@pytest.mark.parametrize(
    "url", ["http://[::1]:8080/a", "https://x:8443?b", "https://${secret:a/user}:${secret:a/word}@${secret:a/host}:1/"]
)
def test_an_address_may_be_of_any_kind(url: str) -> None:
    assert accepted({"url": url, "proxy": url}).spec.feeds[0].url == url


@pytest.mark.parametrize(
    ("feed", "problem"),
    [
        ({"id": "a b"}, 'spec.feeds[0].id: "a b" is not an id of a feed'),
        ({"url": "ftp://x/"}, 'spec.feeds[0].url: "ftp://x/" is not an http or https URL'),
        ({"url": "https://me:word@x/"}, "spec.feeds[0].url: has credentials in it"),
        ({"url": "https://[x/"}, 'spec.feeds[0].url: "https://[x/" has no host, or a port that there is not'),
        ({"url": "https://[x]/"}, "has no host, or a port that there is not"),
        ({"url": "https:///prices"}, "has no host, or a port that there is not"),
        ({"url": "https://x:70000/"}, "has no host, or a port that there is not"),
        ({"url": "https://x:http/"}, "has no host, or a port that there is not"),
        ({"proxy": "http://:3128"}, "has no host, or a port that there is not"),
        ({"url": "https://x/?key=${secret:shop}"}, "has a ${ that begins no ${secret:name/key}"),
        ({"periodicity": "50ms"}, 'spec.feeds[0].periodicity: "50ms" is not within 100ms to 30d'),
        ({"headers": {"Authorization": "Bearer abc"}}, "spec.feeds[0].headers: has a login in Authorization"),
        ({"headers": {"X-API-Key": "abc"}}, "spec.feeds[0].headers: has a login in X-API-Key"),
        ({"headers": {"If-None-Match": "x"}}, "is a header that each request has already"),
        ({"headers": {"X": "two\nlines"}}, "has characters that an HTTP header cannot have"),
        ({"body": "x"}, "spec.feeds[0].body: "),
        ({"body": "${secret:x}", "method": "POST"}, "has a ${ that begins no ${secret:name/key}"),
        ({"silentAfter": "2s"}, 'spec.feeds[0].silentAfter: "2s" is shorter than periodicity'),
        ({"content": {"jsonPointer": "data"}}, "is not a JSON pointer"),
        ({"content": {"without": "(["}}, "spec.feeds[0].content.without: "),
        ({"content": {"without": "a", "jsonPointer": "/a"}}, "contradicts jsonPointer"),
        ({"content": {"types": ["html"]}}, "is not a media type"),
        ({"maxBytes": "10"}, "is not within 1Ki to 512Mi"),
        ({"periodicty": "5s"}, "did you mean periodicity?"),
        ({"postfix": "/x"}, "is not the end of a file's name"),
        ({"proxy": "http://me:word@x:1"}, "has credentials in it"),
    ],
)
def test_a_wrong_feed_is_refused_in_words(feed: dict[str, Any], problem: str) -> None:
    with pytest.raises(ManifestError) as told:
        parse_collector(document(feed), "feeds.yaml")
    assert problem in str(told.value)
    assert str(told.value).startswith("feeds.yaml:")
    assert "word" not in str(told.value)
    assert "Bearer abc" not in str(told.value)


def test_ids_are_unique() -> None:
    with pytest.raises(ManifestError, match=r'spec\.feeds\[2\]\.id: "prices" is the id of feeds\[0\], too'):
        accepted({}, {"id": "other"}, {})


def test_another_kind_is_refused() -> None:
    with pytest.raises(ManifestError, match='kind: "LogPersister" is not allowed here; write one of: FeedCollector'):
        parse_collector(document().replace("FeedCollector", "LogPersister"))


def test_a_file_may_be_larger_than_what_a_cluster_takes() -> None:
    assert parse_collector("# " + "x" * 2_000_000 + "\n" + document()).name == "prices"
