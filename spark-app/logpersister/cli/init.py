"""``logpersister init``: writes a manifest from what brokers and bucket say. Changes nothing on them."""

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from logpersister.cli import brokers, bucket, context
from logpersister.cli.brokers import NEW, Call, describe_group
from logpersister.cli.exits import CommandError, Exit, UnreachableError
from logpersister.cli.manifest_text import Answers, default_name, write
from logpersister.cli.survey import survey
from logpersister.kafka_client import BrokerReport
from logpersister.manifest import LogPersister, parse_text
from logpersister.manifest.secrets import Secrets
from logpersister.report import logs
from logpersister.report.human import plural
from logpersister.storage import names
from logpersister.storage.connection import Timeouts

MOST_TOPICS: Final = 1000


def run(arguments: argparse.Namespace) -> int:
    """Ask Kafka, then the bucket; write the manifest when both have answered."""
    logs.configure(level="error")
    if arguments.output is not None:
        _must_be_new(arguments.output)
    secrets = context.secrets(arguments)
    name = arguments.name or default_name(arguments.topics, arguments.bucket)
    storage = {**bucket.described_by(arguments, arguments.bucket), "prefix": arguments.prefix}
    resource = context.resource(name, _kafka(arguments), storage)
    report = brokers.reach(resource, secrets, arguments.timeout)
    _must_have_topics(arguments, report)
    config = brokers.config(resource, secrets, arguments.timeout, report)
    sizes = brokers.patiently("the offsets could not be read", arguments.timeout, lambda: survey(config, report.topics))
    notes = [*_notes_on_topics(report), *_notes_on_group(config, resource, arguments.timeout)]
    notes += _notes_on_bucket(resource, secrets, arguments.timeout)
    text = write(
        Answers(resource, report.brokers, sizes, report.missing_topics, by_pattern=arguments.pattern is not None)
    )
    parse_text(text, "init", {})  # what is handed out can be used
    _hand_out(text, arguments.output)
    for note in notes:
        print(note, file=sys.stderr)
    print(f"next: logpersister check -f {arguments.output or 'FILE'}", file=sys.stderr)
    return Exit.OK


def _kafka(arguments: argparse.Namespace) -> dict[str, Any]:
    kafka: dict[str, Any] = {"bootstrapServers": arguments.bootstrap_servers}
    if arguments.topics is not None:
        kafka["topics"] = arguments.topics
    else:
        kafka["topicPattern"] = arguments.pattern or "."
    security = {
        "protocol": arguments.protocol,
        "mechanism": arguments.mechanism,
        "secretName": arguments.kafka_secret,
        "caSecretName": arguments.kafka_ca_secret,
    }
    return {**kafka, "security": {name: value for name, value in security.items() if value is not None}}


def _must_be_new(output: str) -> None:
    if Path(output).exists():
        raise CommandError(f"--output {output}: the file exists; name a new file", Exit.INVALID)


def _must_have_topics(arguments: argparse.Namespace, report: BrokerReport) -> None:
    if arguments.topics is not None or arguments.pattern is not None:
        return
    if not report.topics:
        raise UnreachableError(
            f"{report.address} answers and has no topics; name those that will come with --topics or --pattern"
        )
    if len(report.topics) > MOST_TOPICS:
        raise CommandError(
            f"{report.address} has {len(report.topics):,} topics, and a manifest can name {MOST_TOPICS:,}; choose some "
            "with --pattern or --topics",
            Exit.INVALID,
        )


def _notes_on_topics(report: BrokerReport) -> list[str]:
    notes = [f"warning: {problem}" for problem in report.unreachable]
    found = f"{plural(len(report.topics), 'topic')}, {plural(sum(report.topics.values()), 'partition')}"
    notes.append(f"{report.address}: {found}")
    if report.missing_topics:
        notes.append(f"warning: no such topic yet: {', '.join(report.missing_topics)}")
    elif not report.topics:
        notes.append("warning: the pattern matches no topic yet")
    return notes


def _notes_on_group(config: Mapping[str, Any], resource: LogPersister, seconds: float) -> list[str]:
    group = describe_group(config, resource.group_id, seconds)
    if group.state == NEW:
        return []
    state = f"{group.state}, {plural(len(group.members), 'member')}"
    warning = f"warning: group {resource.group_id} exists ({state}), and members continue at its offsets"
    return [f"{warning}; choose another with --name"]


def _notes_on_bucket(resource: LogPersister, secrets: Secrets, seconds: float) -> list[str]:
    """Look whether the bucket is there and can be listed; nothing is written to it."""
    storage = resource.spec.storage
    folder = names.head(storage.prefix)
    timeouts = Timeouts(connect=seconds, read=seconds, attempts=2)

    def look() -> list[str]:
        with bucket.opened(resource, secrets, timeouts) as store:
            return store.first_keys(folder, start_after="", most=1)

    where = f"s3://{storage.bucket}/{folder}"
    if Call(f"spec.storage: {where}", seconds, look).result():
        return [f"{where}: has objects already; choose another --prefix unless that is meant"]
    return [f"{where}: can be listed, and is empty"]


def _hand_out(text: str, output: str | None) -> None:
    if output is None:
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    try:
        with Path(output).open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise CommandError(f"--output {output}: cannot be written ({error.strerror})", Exit.INVALID) from None
