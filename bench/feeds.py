"""``make bench ARGS=feeds``: what polling costs, of one replica and feeds on 200 hosts of loopback.

A replica polls so many feeds of 10 to 50 kB, each once a period, of which a share has new content each time. Told are
CPU seconds per 1,000 requests, memory, missed slots, and within which time 99 of 100 polls began after they were due.
Kafka and the server of the feeds share the machine's cores.
"""

import argparse
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psutil
import yaml

from tests.stack.kafka import KafkaBroker
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
    options = parser.parse_args(arguments)
    print("| changed | requests/s | CPU s per 1,000 requests | memory | missed | 99 of 100 begin within |")
    print("| --- | --- | --- | --- | --- | --- |")
    for changed in options.changed:
        print(_row(changed, options.feeds, options.period, options.seconds), flush=True)


def _row(changed: int, feeds: int, period: int, seconds: int) -> str:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="logpersister-bench-")))
        kafka = stack.enter_context(KafkaBroker(folder / "kafka", heap="1g"))
        create_topic(kafka.bootstrap, TOPIC, partitions=6, configs={"retention.bytes": str(2**27)})
        port = stack.enter_context(_source(changed))
        process, address = stack.enter_context(_collector(folder, kafka.bootstrap, port, feeds, period))
        time.sleep(WARM_UP_PERIODS * period)
        began, cpu_before, before = time.monotonic(), _cpu(process), _metrics(address)
        time.sleep(seconds)
        took, cpu, after = time.monotonic() - began, _cpu(process) - cpu_before, _metrics(address)
        memory = process.memory_info().rss
    polls = _sum(after, "feed_polls_total") - _sum(before, "feed_polls_total")
    missed = _sum(after, "feed_missed_polls_total") - _sum(before, "feed_missed_polls_total")
    late = _bound(before, after, 0.99)
    cost = cpu / polls * 1000
    return f"| {changed} % | {polls / took:,.0f} | {cost:.2f} | {memory / 1e6:.0f} MB | {missed:.0f} | {late} |"


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
def _collector(folder: Path, bootstrap: str, port: int, feeds: int, period: int) -> Iterator[tuple[psutil.Popen, str]]:
    """Run a replica for the time of the block; yield it with the address of its reports."""
    hosts = [f"127.9.{number // 250}.{number % 250 + 1}" for number in range(HOSTS)]
    document = {
        "apiVersion": "logpersister.dev/v1alpha1",
        "kind": "FeedCollector",
        "metadata": {"name": "bench"},
        "spec": {
            "kafka": {"bootstrapServers": bootstrap, "topic": TOPIC},
            "feeds": [
                {"id": f"f{one}", "url": f"http://{hosts[one % HOSTS]}:{port}/{one}", "periodicity": f"{period}s"}
                for one in range(feeds)
            ],
        },
    }
    file, log = folder / "feeds.yaml", folder / "collector.log"
    file.write_text(yaml.safe_dump(document))
    command = [sys.executable, "-m", "logpersister", "collect", "-f", str(file), "--spool", str(folder / "spool")]
    with log.open("wb") as output:
        process = psutil.Popen([*command, "--http", "127.0.0.1:0", "--log-format", "json"], stderr=output)
    try:
        while (found := re.search(r'"reports.served", "address": "([^"]+)"', log.read_text())) is None:
            if process.poll() is not None:
                raise RuntimeError(f"the collector has ended: {log.read_text()[-2000:]}")
            time.sleep(0.2)
        yield process, found[1]
    finally:
        process.kill()
        process.wait()


def _cpu(process: psutil.Popen) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def _metrics(address: str) -> Mapping[str, float]:
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=30) as answer:
        lines = answer.read().decode().splitlines()
    pairs = (line.rpartition(" ") for line in lines if not line.startswith("#"))
    return {name.removeprefix("logpersister_"): float(value) for name, _, value in pairs}


def _sum(metrics: Mapping[str, float], name: str) -> float:
    return sum(value for one, value in metrics.items() if one.partition("{")[0] == name)


def _bound(before: Mapping[str, float], after: Mapping[str, float], share: float) -> str:
    """Return the least bound of the histogram of lateness below which such a share of polls is."""
    name = re.compile(r'feed_lateness_seconds_bucket\{le="([^"]+)"\}')
    counts = {found[1]: after[one] - before[one] for one in after if (found := name.fullmatch(one))}
    bound = next(bound for bound, count in counts.items() if count >= share * counts["+Inf"])
    return f"{float(bound) * 1000:g} ms"


if __name__ == "__main__":
    main(sys.argv[1:])
