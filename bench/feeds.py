"""``make bench ARGS=feeds``: what polling costs, of one replica and feeds on 200 hosts of loopback.

A replica polls so many feeds of 10 to 50 kB, each once a period, of which a share has new content each time. Told are
CPU seconds per 1,000 requests, memory, which share of the polls that were due were made, and within which time 99 of
100 began.
Kafka and the server of the feeds share the machine's cores.

``--hoard PROGRAM`` measures Hoard in the same run, which this project succeeds: its collector on the same feeds, which
writes new contents into files. It sends no conditional requests, so it reads each body. ``go build ./cmd`` makes it in
a working copy of github.com/jamespfennell/hoard.
"""

import argparse
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
import yaml

from tests.stack.kafka import KafkaBroker
from tests.stack.ports import LOOPBACK, free_port
from tests.stack.server import accepts
from tests.stack.topics import create_topic

HOSTS = 200
TOPIC = "feeds"
WARM_UP_PERIODS = 3


def main(arguments: Sequence[str]) -> None:
    """Measure, and print a row for each share of feeds that change."""
    parser = argparse.ArgumentParser(prog="make bench ARGS='feeds", description=__doc__)
    parser.add_argument("--feeds", type=int, default=5_000)
    parser.add_argument("--period", type=int, default=5, help="seconds (default: 5)")
    parser.add_argument("--seconds", type=int, default=40, help="time to measure (default: 40)")
    parser.add_argument("--changed", type=int, nargs="+", default=[0, 100], help="percent with new content")
    parser.add_argument("--hoard", type=Path, metavar="PROGRAM", help="measure Hoard in the same run")
    options = parser.parse_args(arguments)
    print("| changed | collector | requests/s | CPU s per 1,000 requests | memory | made of those due | 99 % within |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for changed in options.changed:
        feeds = _Feeds(changed, options.feeds, options.period)
        print(feeds.row("LogPersister", _logpersister(feeds), options.seconds), flush=True)
        if options.hoard is not None:
            print(feeds.row("Hoard", _hoard(feeds, options.hoard), options.seconds), flush=True)


@dataclass(frozen=True)
class _Feeds:
    """What is polled."""

    changed: int
    """Percent with new content."""
    number: int
    period: int
    """Seconds."""

    def urls(self, port: int) -> Mapping[str, str]:
        hosts = [f"127.9.{number // 250}.{number % 250 + 1}" for number in range(HOSTS)]
        return {f"f{one}": f"http://{hosts[one % HOSTS]}:{port}/{one}" for one in range(self.number)}

    def row(self, name: str, started: AbstractContextManager["_Collector"], seconds: int) -> str:
        """Measure a collector for so long once it has polled each feed a few times."""
        with started as collector:
            time.sleep(WARM_UP_PERIODS * self.period)
            began, cpu_before, before = time.monotonic(), collector.cpu(), collector.metrics()
            time.sleep(seconds)
            took, cpu, after = time.monotonic() - began, collector.cpu() - cpu_before, collector.metrics()
            memory = collector.process.memory_info().rss
        polls = _sum(after, collector.polls) - _sum(before, collector.polls)
        made, late = polls / (self.number * took / self.period), _bound(before, after, 0.99)
        figures = f"{polls / took:,.0f} | {cpu / polls * 1000:.2f} | {memory / 1e6:.0f} MB | {made:.1%} | {late}"
        return f"| {self.changed} % | {name} | {figures} |"


@dataclass(frozen=True)
class _Collector:
    process: psutil.Popen
    port: int
    polls: str
    """The name of the metric that counts polls."""

    def cpu(self) -> float:
        times = self.process.cpu_times()
        return float(times.user + times.system)

    def metrics(self) -> Mapping[str, float]:
        with urllib.request.urlopen(f"http://{LOOPBACK}:{self.port}/metrics", timeout=30) as answer:
            lines = answer.read().decode().splitlines()
        pairs = (line.rpartition(" ") for line in lines if not line.startswith("#"))
        return {name: float(value) for name, _, value in pairs}


@contextmanager
def _logpersister(feeds: _Feeds) -> Iterator[_Collector]:
    """Run a replica, with a broker."""
    with _folder() as folder, KafkaBroker(folder / "kafka", heap="1g") as kafka, _source(feeds.changed) as port:
        create_topic(kafka.bootstrap, TOPIC, partitions=6, configs={"retention.bytes": str(2**27)})
        document = {
            "apiVersion": "logpersister.dev/v1alpha1",
            "kind": "FeedCollector",
            "metadata": {"name": "bench"},
            "spec": {
                "kafka": {"bootstrapServers": kafka.bootstrap, "topic": TOPIC},
                "feeds": [
                    {"id": one, "url": url, "periodicity": f"{feeds.period}s"} for one, url in feeds.urls(port).items()
                ],
            },
        }
        file = folder / "feeds.yaml"
        file.write_text(yaml.safe_dump(document))
        own = free_port()
        options = ["-f", str(file), "--spool", str(folder / "spool"), "--http", f"{LOOPBACK}:{own}"]
        with _running([sys.executable, "-m", "logpersister", "collect", *options], folder, own) as process:
            yield _Collector(process, own, "logpersister_feed_polls_total")


@contextmanager
def _hoard(feeds: _Feeds, program: Path) -> Iterator[_Collector]:
    """Run Hoard's collector without object storage: it downloads, compares and writes files."""
    with _folder() as folder, _source(feeds.changed) as port:
        wanted = feeds.urls(port).items()
        document = {
            "port": (own := free_port()),
            "workspacePath": str(folder / "workspace"),
            "logLevel": "error",
            "feeds": [{"id": one, "url": url, "periodicity": f"{feeds.period}s"} for one, url in wanted],
        }
        file = folder / "hoard.yml"
        file.write_text(yaml.safe_dump(document))
        command = [str(program), "--config-file", str(file), "collector"]
        with _running(command, folder, own) as process:
            yield _Collector(process, own, "hoard_download_count")


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="logpersister-bench-") as folder:
        yield Path(folder)


@contextmanager
def _source(changed: int) -> Iterator[int]:
    command = [sys.executable, "-m", "bench.feed_source", str(HOSTS), str(changed)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield int(process.stdout.readline())
    finally:
        process.kill()
        process.communicate()


@contextmanager
def _running(command: Sequence[str], folder: Path, port: int) -> Iterator[psutil.Popen]:
    """Run a collector for the time of the block, which begins when its port answers."""
    log = folder / "collector.log"
    with log.open("wb") as output:
        process = psutil.Popen(command, stdout=output, stderr=output)
    try:
        while not accepts(port):
            if process.poll() is not None:
                raise RuntimeError(f"the collector has ended: {log.read_text()[-2000:]}")
            time.sleep(0.2)
        yield process
    finally:
        process.kill()
        process.wait()


def _sum(metrics: Mapping[str, float], name: str) -> float:
    return sum(value for one, value in metrics.items() if one.partition("{")[0] == name)


def _bound(before: Mapping[str, float], after: Mapping[str, float], share: float) -> str:
    """Return the least bound of the histogram of lateness below which such a share of polls is; Hoard has none."""
    name = re.compile(r'logpersister_feed_lateness_seconds_bucket\{le="([^"]+)"\}')
    counts = {found[1]: after[one] - before[one] for one in after if (found := name.fullmatch(one))}
    if not counts:
        return "?"
    bound = next(bound for bound, count in counts.items() if count >= share * counts["+Inf"])
    return f"{float(bound) * 1000:g} ms"


if __name__ == "__main__":
    main(sys.argv[1:])
