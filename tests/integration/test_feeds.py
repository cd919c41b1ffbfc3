"""Feeds of a server that misbehaves, collected by replicas that are killed into a Kafka that goes away."""

import itertools
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from logpersister.cli import finish
from logpersister.finish.look import TopicFolders
from tests.integration.harness.process import MemberProcess
from tests.integration.harness.scene import Scene
from tests.integration.harness.verification import said_json
from tests.integration.harness.waiting import eventually
from tests.stack import KafkaBroker
from tests.stack.authority import Authority
from tests.stack.feed_server import FeedServer, feeds
from tests.stack.topics import Record, read_all

Collect = Callable[..., MemberProcess]
AT_THE_END = 3.0
"""Seconds before the end of a replica in which it may have a download that no disk has yet."""


@pytest.fixture
def server() -> Iterator[FeedServer]:
    with feeds() as one:
        yield one


@pytest.fixture
def collect(tmp_path: Path, kafka: KafkaBroker) -> Iterator[Collect]:
    """``collect(replica, topic, feeds, **spec)`` starts a replica; whatever is left at the end is killed."""
    numbers = itertools.count(1)
    with ExitStack() as stack:

        def start(
            replica: str, topic: str, feeds: Sequence[dict[str, Any]], *options: str, **spec: Any
        ) -> MemberProcess:
            document = {
                "apiVersion": "logpersister.dev/v1alpha1",
                "kind": "FeedCollector",
                "metadata": {"name": "under-test"},
                "spec": {
                    "feeds": [{"periodicity": "400ms", "timeout": "2s"} | feed for feed in feeds],
                    "kafka": {"bootstrapServers": kafka.bootstrap, "topic": topic},
                    **spec,
                },
            }
            manifest = tmp_path / f"{replica}.yaml"
            manifest.write_text(yaml.safe_dump(document))
            spool = ("--spool", str(tmp_path / f"{replica}.spool"), "--replica-name", replica)
            log = tmp_path / f"{replica}-{next(numbers)}.log"
            process = MemberProcess(manifest, log, *spool, *options, command="collect")
            stack.callback(process.clean_up)
            return process

        yield start


def figure(replica: MemberProcess, group: str, name: str) -> int:
    """Return a number of ``/status``; 0 as long as nothing answers."""
    return int(replica.status().get(group, {}).get(name, 0))


def wait_figure(replica: MemberProcess, group: str, name: str, least: int) -> None:
    """Wait until a number of ``/status`` is so high."""
    replica.wait(f"{group}.{name} of {least}", lambda: figure(replica, group, name) >= least)


def wait_sent(replica: MemberProcess) -> None:
    """Wait until Kafka is there and the spool is empty."""

    def is_sent() -> bool:
        status = replica.status()
        return bool(status) and status["kafka"]["away"] is None and status["spool"]["records"] == 0

    replica.wait("all is sent", is_sent)


def silent(replica: MemberProcess) -> dict[str, str]:
    """Return the feeds that are silent, and why."""
    worst = replica.status().get("feeds", {}).get("worst", [])
    return {entry["id"]: entry["reason"] for entry in worst if entry["silent"]}


def collected(kafka: KafkaBroker, topic: str) -> dict[str, list[Record]]:
    """Return the records of a topic by feed, in the order of their partition; each feed is in one."""
    found: dict[str, list[Record]] = defaultdict(list)
    partitions: dict[str, set[int]] = defaultdict(set)
    for partition, records in read_all(kafka.bootstrap, topic).items():
        for record in records:
            assert record.key is not None
            found[record.key.decode()].append(record)
            partitions[record.key.decode()].add(partition)
    assert all(len(where) == 1 for where in partitions.values())
    return found


def missing(server: FeedServer, path: str, records: Sequence[Record], ends: Sequence[float]) -> list[bytes]:
    """Return contents that a server has sent and no record has, but for what replicas had on no disk at their end."""
    stored = {record.value for record in records}
    assert stored <= server.served[path].keys(), "what no server has sent"
    late = {value for value, at in server.served[path].items() if any(-0.1 < end - at < AT_THE_END for end in ends)}
    return sorted(server.served[path].keys() - stored - late)


def test_servers_that_misbehave_harm_their_own_feeds_only(
    kafka: KafkaBroker,
    topic: Callable[..., str],
    server: FeedServer,
    collect: Collect,
    tmp_path: Path,
    secrets_dir: Path,
) -> None:
    authority = Authority("feeds")
    (secrets_dir / "own").mkdir()
    (secrets_dir / "own" / "ca.crt").write_bytes(authority.certificate)
    (secrets_dir / "own" / "key").write_text("a&b\n")
    pair = tmp_path / "server.pem"
    pair.write_bytes(b"".join(authority.server("localhost")))
    reasons = {
        "drip": "no whole answer within the timeout",
        "hang": "no whole answer within the timeout",
        "limited": "the server answers 429",
        "broken": "the server answers 503",
        "gone": "the server answers 404",
        "short": "the answer ended too early",
        "huge": "the answer is larger than maxBytes, 1024000 bytes",
        "bomb": "the answer is larger than maxBytes, 1024000 bytes",
        "loop": "the server answers 302",
        "astray": "the server answers 302",
        "html": "content type text/html; charset=utf-8",
        "strange": "the server's certificate is not accepted",
    }
    with feeds(pair) as secured:
        server.elsewhere = f"{secured.url}/echo/elsewhere"
        own = {"headers": {"X-Key": "${secret:own/key}"}, "caSecretName": "own"}
        specs: list[dict[str, Any]] = [
            *({"id": kind, "url": f"{server.url}/{kind}"} for kind in reasons.keys() - {"strange"}),
            {"id": "changing", "url": f"{server.url}/changing/1"},
            {"id": "steady", "url": f"{server.url}/steady/1"},
            {"id": "clock", "url": f"{server.url}/clock/1", "content": {"jsonPointer": "/data"}},
            {"id": "gzip", "url": f"{server.url}/gzip"},
            {"id": "moved", "url": f"{server.url}/moved/1"},
            {"id": "secret", "url": f"{server.url}/echo/?key=${{secret:own/key}}", **own},
            {"id": "secured", "url": f"{secured.url}/echo/secured", **own},
            {"id": "elsewhere", "url": f"{server.url}/elsewhere", **own},
            {"id": "strange", "url": f"{secured.url}/echo/strange"},
        ]
        for spec in specs:
            spec.setdefault("content", {"types": ["application/json"]})
            spec["silentAfter"] = "3s"
        name = topic(partitions=3)
        one = collect("one", name, specs, requestsPerHost=50)
        good = {"changing", "steady", "clock", "gzip", "moved", "secret", "secured", "elsewhere"}
        one.wait("the bad ones are silent, each for its reason", lambda: reasons.items() <= silent(one).items())
        wait_figure(one, "records", "sent", len(good))
        metrics = one.metrics()
        home, page = one.page("/"), one.page("/feeds/gone")
        end = time.time()
        one.stop()
    assert all(f">{spec['id']}</a>" in home for spec in specs)
    assert "the server answers 404" in page
    assert "a&amp;b" not in home + page, "the key of a Secret"
    found = collected(kafka, name)
    assert found.keys() == good
    assert missing(server, "/changing/1", found["changing"], [end]) == []
    for kind in good - {"changing"}:
        assert len(found[kind]) == 1, kind
    assert found["gzip"][0].value == b'{"packed": true}'
    headers = dict(found["secret"][0].headers)
    assert headers["url"].endswith(b"?key=${secret:own/key}")
    assert server.asked("/echo/?key=a%26b")[0]["x-key"] == "a&b"
    assert all("x-key" not in asked for asked in secured.asked("/echo/elsewhere"))
    assert "a&b" not in one.log.read_text()
    assert "if-none-match" in server.asked("/steady/1")[-1]
    limited = server.times("/limited")
    assert all(later - earlier >= 0.99 for earlier, later in itertools.pairwise(limited))
    assert metrics["logpersister_feed_missed_polls_total"] > 0
    assert metrics['logpersister_feed_polls_total{result="new"}'] >= len(good)


def test_every_content_is_in_the_topic_and_in_archives_whatever_is_killed_or_away(
    kafka: KafkaBroker,
    topic: Callable[..., str],
    server: FeedServer,
    collect: Collect,
    scene: Scene,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    name = topic(partitions=2)
    server.change_seconds = 1.0
    paths = [f"/changing/{number}" for number in range(20)]
    specs = [{"id": path.replace("/changing/", "feed-"), "url": server.url + path} for path in paths]
    replicas = [collect(f"replica-{number}", name, specs, replicas=3, requestsPerHost=50) for number in range(3)]
    for replica in replicas:
        wait_figure(replica, "records", "sent", 21)
    kafka.kill()
    try:
        for replica in replicas:
            wait_figure(replica, "spool", "records", 41)
        ends = [time.time()]
        replicas[1].kill()
        replicas[1] = collect("replica-1", name, specs, replicas=3, requestsPerHost=50)
        assert replicas[1].wait_event("collector.starts")["waiting"] > 40
    finally:
        kafka.recover()
    for replica in replicas:
        wait_sent(replica)
    for killed in (replicas[0], replicas[2]):
        ends.append(time.time())
        killed.kill()
        seen = len(server.times(paths[0]))
        eventually("the others go on", lambda seen=seen: len(server.times(paths[0])) > seen + 8)  # type: ignore[misc]
    ends.append(time.time())
    replicas[1].stop()
    found = collected(kafka, name)
    for path in paths:
        assert missing(server, path, found[path.replace("/changing/", "feed-")], ends) == [], path
    assert all(record.timestamp is not None for record in found["feed-0"])
    by_replica = {dict(record.headers)["replica"] for records in found.values() for record in records}
    assert by_replica == {b"replica-0", b"replica-1", b"replica-2"}
    first = min(record.timestamp or 0 for records in found.values() for record in records)
    over = partial(TopicFolders, now=lambda: (first // 60_000 + 1) * 60.0)  # the first minute, sooner than by the clock
    monkeypatch.setattr(finish, "TopicFolders", over)
    assert_archived(scene, name, found, tmp_path / "files")


def assert_archived(scene: Scene, topic: str, found: Mapping[str, Sequence[Record]], target: Path) -> None:
    """Store the topic by feed and minute; each content is in one file, or in one on each side of a minute's end."""
    manifest = scene.manifest(
        kafka={"topics": [topic]},
        output={"archive": {}, "partitionBy": [{"key": {"prefix": ""}}, {"date": {"granularity": "minute"}}]},
        finish={"policy": ["archive"], "allowedLateness": "0s"},
    )
    scene.run_until_current(manifest)
    said_json("finish", "-f", str(manifest), "--assume-idle")
    said_json("retrieve", "-f", str(manifest), "--target", str(target), "--unpack")
    packed = [*target.rglob("*.tar.gz")]
    assert any(one.name.startswith("feed-0_") for one in packed), "a minute is finished"
    for feed, records in found.items():
        files = [one for one in (target / topic / feed).rglob("feed-*") if one not in packed]
        assert {file.read_bytes() for file in files} == {record.value for record in records}
        for minute in (target / topic / feed).iterdir():
            names = [one.name for one in packed if one.parent == minute]
            if names and all(one.startswith("feed-") for one in names):
                contents = [file.read_bytes() for file in sorted(files) if file.parent == minute]
                assert not any(one == after for one, after in itertools.pairwise(contents)), "neighbours"


def test_a_topic_that_takes_no_large_record_takes_the_others(
    kafka: KafkaBroker, topic: Callable[..., str], server: FeedServer, collect: Collect
) -> None:
    name = topic(max_message_bytes=20_000)
    specs = [
        {"id": "huge", "url": f"{server.url}/huge", "maxBytes": "4Mi"},
        {"id": "changing", "url": f"{server.url}/changing/1"},
    ]
    one = collect("one", name, specs)
    wait_figure(one, "records", "refused", 1)
    wait_figure(one, "records", "sent", 3)
    assert figure(one, "records", "refused") == 1
    one.stop()
    assert collected(kafka, name).keys() == {"changing"}


def test_check_says_what_feeds_and_topic_are_like(
    kafka: KafkaBroker, topic: Callable[..., str], server: FeedServer, collect: Collect
) -> None:
    specs = [{"id": kind, "url": f"{server.url}/{kind}/1"} for kind in ("steady", "gone")]
    good, bad = (
        collect("one", topic(), specs, "--check"),
        collect("two", "missing", specs, "--check", "--timeout", "2s"),
    )
    assert good.wait_end() == 0
    assert "warning  feeds     gone: the server answers 404" in good.log.read_text()
    assert bad.wait_end() == 3
    assert "topic missing" in bad.log.read_text()


def test_replicas_complement_each_other(
    kafka: KafkaBroker, topic: Callable[..., str], server: FeedServer, collect: Collect
) -> None:
    name = topic()
    feed = {"id": "one", "url": f"{server.url}/steady/1", "periodicity": "2s"}
    for number in range(2):
        collect(f"replica-{number}", name, [feed], replicas=2)
    eventually("some periods pass", lambda: len(server.times("/steady/1")) >= 8)
    times = server.times("/steady/1")[3:]
    gaps = [later - earlier for earlier, later in itertools.pairwise(times)]
    assert statistics.median(abs(gap - 1) for gap in gaps) < 0.5, gaps
