"""The life of a collector's process: poll until it is told to stop, then send what is left."""

import gc
import resource as limits
import threading
import time
from contextlib import ExitStack, closing
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Final

import structlog

from logpersister.feeds.collector import Collector
from logpersister.feeds.glance import CollectorSource
from logpersister.feeds.intake import Intake
from logpersister.feeds.polled_feed import PolledFeed
from logpersister.feeds.reports import FeedMetrics, Parts, status_document
from logpersister.feeds.schedule import share_of
from logpersister.feeds.secret_texts import SecretValues
from logpersister.feeds.sender import Sender, SentCounts
from logpersister.feeds.spool import Spool
from logpersister.feeds.transfers import Transfers
from logpersister.kafka_client import client_config
from logpersister.kafka_client.stream import Stream
from logpersister.manifest import FeedCollector
from logpersister.manifest.secrets import Secrets
from logpersister.pages.site import Site
from logpersister.report import logs
from logpersister.report.health import Health, Probe
from logpersister.report.server import Endpoints, ReportServer
from logpersister.stopping import Stop

log = structlog.get_logger(__name__)

LOOK_SECONDS: Final = 1.0
SENT_SECONDS: Final = 0.2
"""How often it is looked whether all is sent."""
POLLING_LIMIT: Final = timedelta(seconds=60)
THREAD_LIMIT: Final = timedelta(seconds=180)
"""To connect, and to wait for a slow disk."""


@dataclass(frozen=True, slots=True)
class CollectorOptions:
    """What is said on the command line and not in the manifest."""

    replica: str
    """Name in records and reports; also says which of several replicas this is."""
    spool: Path
    """Directory of what Kafka does not have yet, of this process alone."""
    http: str | None = None
    """Address of the report endpoint; None: there is none."""
    drains: bool = False
    """Whether it polls nothing, and ends when the spool is sent."""


def compiled(collector: FeedCollector, secrets: Secrets, replica: str) -> list[PolledFeed]:
    """Return the feeds as they are polled."""
    values, now = SecretValues(secrets), time.monotonic()
    share = share_of(replica, collector.spec.replicas)
    feeds = enumerate(collector.spec.feeds)
    found = [PolledFeed.of(feed, place, share, values, now) for place, feed in feeds]
    gc.collect()
    gc.freeze()  # they live as long as the process: no need to look through them again
    return found


def run_collector(collector: FeedCollector, secrets: Secrets, options: CollectorOptions) -> int:
    """Run until a signal comes, or all is sent; return how many records are left in the spool.

    Raises `ManifestError`, `SpoolTakenError`, `BindError`.
    """
    spec, started = collector.spec, time.time()
    feeds = [] if options.drains else compiled(collector, secrets, options.replica)
    config = client_config(spec.kafka.connection, secrets)
    largest = max(feed.max_bytes for feed in spec.feeds)
    _allow_many_files()
    stop, health = Stop(), Health()
    with ExitStack() as stack, stop.on_signals():
        spool = stack.enter_context(closing(Spool(options.spool, spec.spool.max_bytes, spec.spool.when_full)))
        sender = Sender(
            spool, lambda wake: Stream(config, spec.kafka.topic, largest, wake), health.probe("sender", THREAD_LIMIT)
        )
        intake = Intake(spool, sender.wake, health.probe("intake", THREAD_LIMIT))
        parts = Parts(feeds, spool, sender.counts)
        metrics = FeedMetrics(collector.name, options.replica, parts)
        if options.http is not None:
            status = partial(status_document, collector.name, options.replica, started, metrics, parts)
            site = stack.enter_context(Site(CollectorSource(collector.name, options.replica, metrics, parts)))
            server = stack.enter_context(ReportServer(options.http, Endpoints(metrics, status, health, site)))
            log.info("reports.served", address=server.address)
        stack.enter_context(logs.kafka_complaints.taken_by(lambda _: None))
        log.info("collector.starts", feeds=len(feeds), topic=spec.kafka.topic, waiting=spool.fill.entries)
        for part in (intake, sender):
            part.thread.start()
        grace = spec.shutdown_grace.total_seconds()
        if options.drains:
            _wait_until_sent(spool, sender.counts, stop, grace)
        else:
            with closing(Transfers(len(feeds))) as transfers:
                loop = Collector(feeds, options.replica, spec.requests_per_host, transfers, intake, metrics)
                _poll(loop, stop, health.probe("polling", POLLING_LIMIT), intake.thread)
        intake.close()
        sender.close(grace, lambda: stop.at_once)
        left = spool.fill.entries
    tell = log.warning if left else log.info
    tell("collector.stopped", sent=sender.counts.sent, left_in_spool=left)
    return left


def _wait_until_sent(spool: Spool, counts: SentCounts, stop: Stop, patience: float) -> None:
    """Wait until the spool is sent, as long as Kafka takes a record now and then: each within `patience` seconds."""
    settled, since = -1, time.monotonic()
    while spool.fill.entries and not stop.asked and time.monotonic() - since < patience:
        if counts.sent + counts.refused > settled:
            settled, since = counts.sent + counts.refused, time.monotonic()
        stop.wake.wait(SENT_SECONDS)


def _poll(collector: Collector, stop: Stop, probe: Probe, intake: threading.Thread) -> None:
    look_at = time.monotonic()
    while not stop.asked:
        collector.turn()
        if time.monotonic() >= look_at:
            look_at = time.monotonic() + LOOK_SECONDS
            collector.look()
            probe.beat()
            if not intake.is_alive():
                raise RuntimeError("the thread that writes to the spool has ended; the log has its error")
    probe.stop()


def _allow_many_files() -> None:
    """Raise the number of open files, so of connections, as far as the process may."""
    soft, hard = limits.getrlimit(limits.RLIMIT_NOFILE)
    if soft != hard:
        limits.setrlimit(limits.RLIMIT_NOFILE, (hard, hard))
