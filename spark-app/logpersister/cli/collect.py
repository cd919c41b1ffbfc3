"""``logpersister collect``: poll feeds until it is stopped; with ``--check``, ask each once."""

import argparse
import os
import socket
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from logpersister.cli import context
from logpersister.cli.exits import CommandError, Exit, UnreachableError
from logpersister.cli.tables import printable
from logpersister.feeds.checking import Asked, ask_all
from logpersister.feeds.process import CollectorOptions, compiled, run_collector
from logpersister.feeds.spool import SpoolTakenError
from logpersister.kafka_client import client_config
from logpersister.kafka_client.probe import API_VERSIONS, probe
from logpersister.kafka_client.producer import NotDeliveredError, partitions_of
from logpersister.manifest import FeedCollector
from logpersister.manifest.secrets import Secrets
from logpersister.report import logs
from logpersister.report.human import plural
from logpersister.report.server import BindError

MOST_TOLD: Final = 20
"""Feeds without content that are named."""


def run(arguments: argparse.Namespace) -> int:
    """Run a collector, or check its manifest; return the exit code."""
    collector = context.collector(arguments.file)
    named = {"collector": collector.name}
    logs.configure(arguments.log_format, "error" if arguments.check else arguments.log_level, context=named)
    secrets = context.secrets(arguments)
    replica = arguments.replica_name or name_of_process()
    if arguments.check:
        return check(collector, secrets, replica, arguments.timeout)
    start(collector, secrets, CollectorOptions(replica, spool_of(collector, arguments), arguments.http))
    return Exit.OK


def name_of_process() -> str:
    """Return the name of a replica that has none."""
    return f"{socket.gethostname()}-{os.getpid()}"


def spool_of(collector: FeedCollector, arguments: argparse.Namespace) -> Path:
    """Return the directory of the spool."""
    return Path(arguments.spool or f"{collector.name}.spool")


def start(collector: FeedCollector, secrets: Secrets, options: CollectorOptions) -> int:
    """Run the collector; return how many records are left in the spool. Raises CommandError where it cannot start."""
    try:
        return run_collector(collector, secrets, options)
    except SpoolTakenError as error:
        raise CommandError(f"--spool {error}; give each process its own", Exit.INVALID) from None
    except BindError as error:
        raise CommandError(str(error), Exit.INVALID) from None
    except OSError as error:  # of the directory: what is sent and asked has errors of its own
        remedy = "name a directory that can be written to"
        raise CommandError(f"--spool {options.spool}: {error.strerror or error}; {remedy}", Exit.INVALID) from None


def check(collector: FeedCollector, secrets: Secrets, replica: str, seconds: float) -> int:
    """Print what is found of feeds and topic; nothing is written. Feeds without content are warnings.

    Raises ManifestError for Secrets that cannot be used.
    """
    kafka = collector.spec.kafka
    feeds = compiled(collector, secrets, replica)
    for feed in feeds:
        feed.request()  # raises what its Secrets lack
    config = client_config(kafka.connection, secrets)
    for line in _lines(list(ask_all(feeds, collector.spec.requests_per_host))):
        print(line)
    connection = kafka.connection
    away = probe(connection.addresses, config.get("ssl_context"), seconds, greeting=API_VERSIONS)
    if len(away) == len(connection.addresses):
        told = "; ".join(f"{address}: {failure.cause}; {failure.remedy}" for address, failure in away.items())
        raise UnreachableError(f"spec.kafka.bootstrapServers: {told}", may_pass=True)
    try:
        with logs.kafka_complaints.taken_by(lambda _: None):  # what fails is told
            partitions = partitions_of(config, kafka.topic, seconds)
    except NotDeliveredError as error:
        remedy = "it must exist, with DESCRIBE and WRITE for this user; see also spec.kafka.security.protocol"
        raise UnreachableError(f"spec.kafka: topic {kafka.topic}: {error}; {remedy}", may_pass=True) from None
    print(f"ok       kafka     topic {kafka.topic}: {plural(partitions, 'partition')}")
    return Exit.OK


def _lines(asked: list[Asked]) -> Iterator[str]:
    without = [one for one in asked if one.reason]
    yield f"ok       feeds     {plural(len(asked) - len(without), 'feed')} of {len(asked)} have content"
    for one in without[:MOST_TOLD]:
        yield f"warning  feeds     {one.feed}: {printable(logs.redactor.text(one.reason))}"
    if len(without) > MOST_TOLD:
        reasons = Counter(printable(logs.redactor.text(one.reason)) for one in without[MOST_TOLD:])
        told = ", ".join(f"{reason} ({count})" for reason, count in reasons.most_common(5))
        yield f"warning  feeds     {len(without) - MOST_TOLD} more: {told}"
