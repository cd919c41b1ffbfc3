"""``logpersister lag``: what is in the topics and not yet stored."""

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, TextIO

from logpersister.cli import brokers, context
from logpersister.cli.brokers import describe_group
from logpersister.cli.exits import Exit
from logpersister.cli.tables import table
from logpersister.group.answers import GroupDescription
from logpersister.group.observation import Observation, PartitionState, observe
from logpersister.group.offsets import OffsetReader
from logpersister.manifest import LogPersister
from logpersister.manifest.secrets import Secrets
from logpersister.report import plain
from logpersister.report.document import lag_summary_document, partition_lag_document
from logpersister.report.human import duration, number, plural
from logpersister.report.lag import WORST
from logpersister.report.lines import partitions_text

Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class GroupLag:
    """Everything that the command shows."""

    group_id: str
    group: GroupDescription
    observation: Observation
    missing_topics: Sequence[str]
    """Named by the manifest, and not there (yet)."""
    refused: Mapping[str, str] = field(default_factory=dict)


def run(arguments: argparse.Namespace) -> int:
    """Show the lag once, or again and again."""
    resource, secrets = context.begin(arguments)
    while True:
        lag = lag_of(resource, secrets, arguments.timeout)
        if arguments.watch is not None and sys.stdout.isatty() and not arguments.json:
            sys.stdout.write("\033[H\033[2J")  # to the top of an empty screen
        _show(lag, arguments, sys.stdout)
        if arguments.watch is None:
            return Exit.UNREACHABLE if lag.observation.errors or lag.refused else Exit.OK
        sys.stdout.flush()
        time.sleep(arguments.watch)


def lag_of(resource: LogPersister, secrets: Secrets, seconds: float) -> GroupLag:
    """Ask Kafka for the lag of the group. Raises CommandError."""
    found = brokers.reach(resource, secrets, seconds, some_topics=True)
    config = brokers.config(resource, secrets, seconds, found)
    group = describe_group(config, resource.group_id, seconds)

    def ask() -> Observation:
        with closing(OffsetReader.of(resource, config)) as offsets:
            return observe(offsets, resource.spec.kafka, found.topics)

    observation = brokers.patiently("the offsets could not be read", seconds, ask)
    refused = {topic: str(problem) for topic, problem in found.refused.items()}
    return GroupLag(resource.group_id, group, observation, found.missing_topics, refused)


def _show(lag: GroupLag, arguments: argparse.Namespace, out: TextIO) -> None:
    if arguments.json:
        out.write(json.dumps(document(lag, every=arguments.all)) + "\n")
    else:
        _show_tables(lag, out, every=arguments.all)
    for error, partitions in lag.observation.unread.items():
        print(f"{partitions_text(partitions)}: {error}", file=sys.stderr)
    for error in lag.refused.values():
        print(error, file=sys.stderr)


def document(lag: GroupLag, *, every: bool) -> Document:
    """Return the JSON document; docs/commands.md describes it. `every`: with all partitions."""
    observation = lag.observation
    result: Document = {
        "group": lag.group_id,
        "state": lag.group.state,
        "complete": not observation.errors and not lag.refused,
        "lag": lag_summary_document(observation.summary),
        "topics": [
            {"topic": name, "partitions": t.partitions, "behindPartitions": t.behind, "records": t.records,
             "seconds": None if t.seconds is None else round(t.seconds, 3)}
            for name, t in sorted(observation.summary.topics.items())
        ],
        "generations": [
            {"generation": one.generation, "partitions": one.partitions} for one in observation.generations
        ],
        "pendingIntents": [
            plain.document(intent, "topic_id", "place", "unstored", "horizon") for intent in observation.intents
        ],
        "members": [plain.document(member, "is_static", "assignment") for member in lag.group.members],
        "missingTopics": list(lag.missing_topics),
        "errors": [
            *({**partition._asdict(), "message": message} for partition, message in sorted(observation.errors.items())),
            *({"topic": topic, "message": message} for topic, message in sorted(lag.refused.items())),
        ],
    }  # fmt: skip
    if every:
        result["partitions"] = [
            {**partition_lag_document(state.lag), "committed": state.committed, "lostRecords": state.lost,
             "generation": state.generation, "since": state.since}
            for state in observation.partitions
        ]  # fmt: skip
    return result


def _show_tables(lag: GroupLag, out: TextIO, *, every: bool) -> None:
    observation = lag.observation
    summary = observation.summary
    members = "no members" if not lag.group.members else plural(len(lag.group.members), "member")
    behind = f"{summary.behind:,} of {plural(summary.partitions, 'partition')} behind"
    without = [
        plural(len(one), name) for one, name in ((observation.errors, "partition"), (lag.refused, "topic")) if one
    ]
    if without:
        behind += f" (without {' and '.join(without)} that could not be read)"
    oldest = f", oldest {duration(summary.seconds)}" if summary.behind else ""
    out.write(f"group {lag.group_id}: {lag.group.state}, {members}\n")
    out.write(f"{behind}: {plural(summary.records, 'record')}{oldest}\n")
    if len(observation.generations) > 1:
        shares = [f"generation {one.generation} in {one.partitions:,}" for one in observation.generations]
        out.write(f"{', '.join(shares)} of {plural(summary.partitions, 'partition')}\n")
    out.write("\n")
    table(
        ("TOPIC", ">PARTITIONS", ">BEHIND", ">RECORDS", ">OLDEST"),
        [
            [name, number(topic.partitions), number(topic.behind), number(topic.records), duration(topic.seconds)]
            for name, topic in sorted(summary.topics.items())
        ],
        out,
    )
    _show_partitions(observation, out, every=every)
    if lag.group.members:
        out.write("\n")
        members_of = [[member.name, member.host, number(member.partitions)] for member in lag.group.members]
        table(("MEMBER", "HOST", ">PARTITIONS"), members_of, out)
    out.writelines(f"\ntopic {topic} does not exist yet\n" for topic in lag.missing_topics)


def _show_partitions(observation: Observation, out: TextIO, *, every: bool) -> None:
    by_partition = {state.lag.partition: state for state in observation.partitions}
    worst = [by_partition[lag.partition] for lag in observation.summary.worst]
    pending = [state for state in observation.partitions if state.intent is not None and state not in worst]
    states = list(observation.partitions) if every else [*worst, *pending[:WORST]]
    if not states:
        return
    out.write("\n")
    columns = ("PARTITION", ">GEN", ">POSITION", ">END", ">RECORDS", ">OLDEST", "NOTE")
    table(columns, map(_row, states), out)


def _row(state: PartitionState) -> list[str]:
    lag, generation = state.lag, "" if state.generation is None else str(state.generation)
    offsets = map(number, (lag.position, lag.end, lag.records))
    return [str(lag.partition), generation, *offsets, duration(lag.age_seconds), _note(state)]


def _note(state: PartitionState) -> str:
    notes = []
    if state.committed is None:
        notes.append("nothing committed")
    if state.intent is not None:
        notes.append(f"being stored up to {state.intent.end:,} by revision {state.intent.revision}")
    if state.lost:
        notes.append(f"Kafka deleted the first {plural(state.lost, 'record')} of them")
    return "; ".join(notes)
