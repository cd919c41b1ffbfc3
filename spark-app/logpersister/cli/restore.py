"""``logpersister restore``: produces the records of a backup back into topics."""

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final, TextIO, TypeVar

import yaml
from kafka.errors import KafkaError

from logpersister.backup.kept import PARTS, kept_parts, unfit
from logpersister.backup.listing import TopicBackup, read_backup
from logpersister.cli import brokers, bucket, context
from logpersister.cli.exits import CommandError, Exit, UnreachableError
from logpersister.cli.tables import printable, table
from logpersister.formats.damage import ContentError
from logpersister.kafka_client.admin import admin_client
from logpersister.manifest import LogPersister, ManifestError
from logpersister.manifest.secrets import Secrets
from logpersister.ranges import Offset, TopicPartition
from logpersister.report import logs, plain
from logpersister.report.human import number, plural
from logpersister.restore.execution import restore
from logpersister.restore.groups import MovedOffset, Offsets, moved, of_topics, read_groups, to_set
from logpersister.restore.offset_table import document, offset_map
from logpersister.restore.plan import PartitionPlan, RestoreError, TargetTopic, lost, plan
from logpersister.restore.target import TargetCluster, committed
from logpersister.storage.facts import ForeignObjectError
from logpersister.storage.store import ObjectStore

_COLUMNS: Final = ("TOPIC", ">PARTITIONS", ">RECORDS", ">HAD", ">PRODUCED")
_GROUP_COLUMNS: Final = ("GROUP", "TOPIC", ">PARTITION", ">OLD", ">NEW", "STATE")
_PRODUCER: Final = "logpersister-restore"
_PATIENCE_SECONDS: Final = 30.0

Result = TypeVar("Result")


def run(arguments: argparse.Namespace) -> int:
    """Restore; what is wrong is found before anything is produced, where it can be known then."""
    resource, secrets = context.begin(arguments)
    _check_kept(resource, arguments.topics)
    names = _names(arguments)
    _check_writable(arguments.offsets)
    with (
        logs.kafka_complaints.taken_by(_hear_nothing, _hear_nothing),  # what ends the command says why
        bucket.opened(resource, secrets) as store,
        _target(arguments, names, secrets) as target,
        _errors_told(),
    ):
        restored = _Restored(resource, store, target, names)
        groups = _groups(arguments, resource, secrets)
        for group in groups:
            _patiently(f"offsets of group {group} cannot be read", partial(target.committed, group))
        restored.plan(dry_run=arguments.dry_run)
        if not arguments.dry_run:
            restored.produce()
        maps = restored.maps() if groups or arguments.offsets else {}
        if arguments.offsets:
            _write(arguments.offsets, document(restored.by_source, maps))
        moves = list(moved(groups, maps, restored.targets, restored.ends))
        states = {} if arguments.dry_run else _commit(target, moves)
    if arguments.json:
        sys.stdout.write(json.dumps(_document(restored, moves, states)) + "\n")
    else:
        _show(restored, moves, states, sys.stdout, dry_run=arguments.dry_run)
    return Exit.OK


def _check_kept(resource: LogPersister, topics: Sequence[str]) -> None:
    """Raise CommandError unless objects have all of each record."""
    for spec in map(resource.spec.for_topic, topics):
        problem = unfit(spec)
        if problem is None and kept_parts(spec) != frozenset(PARTS):
            problem = f"spec.output: {spec.output.format} does not keep all of a record"
        if problem is not None:
            raise CommandError(f"{problem}; restore reads output.kafka, and output.jsonl of any bytes", Exit.INVALID)


def _hear_nothing(_: str) -> None:
    """Take what kafka-python says of brokers that are away."""


def _names(arguments: argparse.Namespace) -> dict[str, str]:
    renamed: dict[str, str] = {}
    for entry in arguments.rename or ():
        old, separator, new = entry.partition("=")
        if not separator or old not in arguments.topics or not new:
            raise CommandError(f"--rename: {entry} is not OLD=NEW with a topic of --topics", Exit.INVALID)
        renamed[old] = new
    names = {topic: renamed.get(topic, topic) for topic in arguments.topics}
    if len(set(names.values())) < len(names):
        raise CommandError("--rename: two topics would become one", Exit.INVALID)
    return names


@contextmanager
def _target(arguments: argparse.Namespace, names: Mapping[str, str], secrets: Secrets) -> Iterator[TargetCluster]:
    kafka = {**_kafka_of(arguments.to), "topics": sorted(names.values()), "groupId": _PRODUCER}
    try:
        resource = context.resource("restore", kafka, {"bucket": "none"})
        found = brokers.reach(resource, secrets, arguments.timeout)
    except ManifestError as error:
        raise CommandError(f"--to {arguments.to}: {error}", Exit.INVALID) from None
    except CommandError as error:
        raise CommandError(f"--to: {error}", error.code, may_pass=error.may_pass) from None
    try:
        with TargetCluster(brokers.config(resource, secrets, arguments.timeout, found)) as target:
            yield target
    except KafkaError as error:
        raise UnreachableError(f"--to: {error}", may_pass=bool(getattr(error, "retriable", False))) from error


def _kafka_of(to: str) -> dict[str, Any]:
    """Return the block ``kafka`` of a file, or one with addresses."""
    if not Path(to).is_file():
        return {"bootstrapServers": to}
    try:
        content = yaml.safe_load(Path(to).read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise CommandError(f"--to {to}: cannot be read ({error})", Exit.INVALID) from None
    block = content.get("kafka") if isinstance(content, dict) else None
    if not isinstance(block, dict):
        raise CommandError(
            f"--to {to}: has no block kafka; write kafka: with bootstrapServers and security as in a manifest",
            Exit.INVALID,
        )
    return block


def _patiently(doing: str, ask: Callable[[], Result]) -> Result:
    return brokers.patiently(doing, _PATIENCE_SECONDS, ask, where="--to")


@contextmanager
def _errors_told() -> Iterator[None]:
    try:
        yield
    except (RestoreError, ContentError, ForeignObjectError) as error:
        raise CommandError(printable_lines(str(error)), Exit.FAILED) from None
    except TimeoutError as error:
        raise UnreachableError(f"{error}; run the same command again, it goes on there", may_pass=True) from None


def printable_lines(text: str) -> str:
    """Return a text of several lines without what a terminal would obey."""
    return "\n".join(map(printable, text.splitlines()))


class _Restored:
    def __init__(
        self, resource: LogPersister, store: ObjectStore, target: TargetCluster, names: Mapping[str, str]
    ) -> None:
        self._resource, self._store, self._target, self._names = resource, store, target, names
        self._backups: dict[str, TopicBackup] = {}
        self.plans: list[PartitionPlan] = []
        self.made: list[str] = []
        self._there: dict[TopicPartition, int] = {}

    def plan(self, *, dry_run: bool) -> None:
        """Find out what is to be done, and make topics. Raises RestoreError, of all topics together."""
        group = self._resource.group_id
        spec = self._resource.spec
        self._backups = {
            topic: read_backup(self._store, group, topic, spec=spec.for_topic(topic)) for topic in self._names
        }
        existing = self._target.topics(self._names.values())
        self.plans = self._planned(existing)
        self.made = sorted(set(self._names.values()) - existing.keys())
        if self.made and not dry_run:
            counts = {self._names[topic]: backup.partition_count for topic, backup in self._backups.items()}
            self._target.make({name: counts[name] for name in self.made})
            # Somebody else may have made them meanwhile, such as another restore.
            ask = partial(self._target.topics, self._names.values())
            existing = _patiently("topics that were made cannot be described", ask)
            self.plans = self._planned(existing)
        for name, found in existing.items():
            if found.is_compacted:
                print(
                    f"topic {name} of the target is compacted: Kafka keeps the last record of each key", file=sys.stderr
                )
        for range_ in lost(self._backups.values()):
            print(f"{range_}: was lost before the backup stored it, so it is not restored", file=sys.stderr)

    def _planned(self, existing: Mapping[str, TargetTopic]) -> list[PartitionPlan]:
        plans: list[PartitionPlan] = []
        problems = []
        for topic, name in self._names.items():
            try:
                plans += plan(topic, self._backups[topic], name, existing.get(name))
            except RestoreError as error:
                problems.append(str(error))
        if problems:
            raise RestoreError("\n".join(problems))
        return plans

    def produce(self) -> None:
        """Produce all that is not there yet."""
        producers = {
            name: _patiently("no producer id could be had", partial(self._target.producer, self._producer_name(topic)))
            for topic, name in self._names.items()
        }
        restore(self.plans, self._target, producers, self._store.read, self._there.__setitem__)

    def _producer_name(self, topic: str) -> str:
        """Return a name that all restores of these records have in common, and no other restore."""
        storage = self._resource.spec.storage
        return ".".join([_PRODUCER, storage.bucket, storage.prefix or "", self._resource.group_id, topic])

    def maps(self) -> dict[TopicPartition, Any]:
        return {one.source: offset_map(one, self._store.read) for one in self.plans}

    @property
    def by_source(self) -> dict[TopicPartition, PartitionPlan]:
        return {one.source: one for one in self.plans}

    @property
    def targets(self) -> dict[TopicPartition, TopicPartition]:
        return {one.source: one.target for one in self.plans}

    @property
    def ends(self) -> dict[TopicPartition, Offset]:
        return {one.source: one.pieces[-1].range.end for one in self.plans if one.pieces}

    def topics(self) -> Iterator[dict[str, Any]]:
        """Yield what became of each topic."""
        for topic, name in self._names.items():
            plans = [one for one in self.plans if one.source.topic == topic]
            had = sum(one.stored for one in plans)
            there = sum(self._there.get(one.target, one.stored) for one in plans)
            yield {
                "topic": topic,
                "target": name,
                "made": name in self.made,
                "partitions": len(plans),
                "records": sum(one.counted for one in plans),
                "had": had,
                "produced": there - had,
            }


def _groups(arguments: argparse.Namespace, resource: LogPersister, secrets: Secrets) -> dict[str, Offsets]:
    """Return committed offsets by group: from a file, or from the brokers that the backup was made of.

    Raises RestoreError where a name is wrong: its group would begin anywhere.
    """
    if not arguments.groups:
        return {}
    [first, *_] = arguments.groups
    if len(arguments.groups) == 1 and Path(first).is_file():
        found: Mapping[str, Offsets] = read_groups(Path(first))
    else:
        found = _committed(arguments, resource, secrets)
        unknown = [group for group, offsets in found.items() if not offsets]
        if unknown:
            raise RestoreError(
                f"--groups: {unknown[0]} has committed no offset at the brokers of the manifest, and is no file; "
                "correct the name, or leave it out"
            )
    own = of_topics(found, arguments.topics)
    if not own:
        raise RestoreError(f"--groups: {', '.join(arguments.groups)} has no offset of {', '.join(arguments.topics)}")
    return own


def _committed(arguments: argparse.Namespace, resource: LogPersister, secrets: Secrets) -> dict[str, Offsets]:
    found = brokers.reach(resource, secrets, arguments.timeout, some_topics=True)
    with closing(admin_client(brokers.config(resource, secrets, arguments.timeout, found))) as admin:
        return {
            group: brokers.patiently("offsets cannot be read", arguments.timeout, partial(committed, admin, group))
            for group in arguments.groups
        }


def _commit(target: TargetCluster, moves: Sequence[MovedOffset]) -> dict[tuple[str, TopicPartition], str]:
    """Set the offsets of groups that have none yet; return what became of each."""
    there = {group: target.committed(group) for group in {one.group for one in moves}}
    wanted, kept = to_set(moves, there)
    states = {(one.group, one.target): f"has {there[one.group][one.target]} already" for one in kept}
    for group, offsets in wanted.items():
        failed = target.commit(group, offsets)
        if failed:
            raise RestoreError(
                f"group {group}: its offsets in the target cannot be set ({min(failed.values())}); end its "
                "members there and run the same command again"
            )
        states |= {(group, partition): "set" for partition in offsets}
    return states


def _check_writable(file: str | None) -> None:
    """Raise CommandError now rather than when all is restored."""
    if file is not None:
        with _writing(file), Path(file).open("a", encoding="utf-8"):
            pass


def _write(file: str, content: Mapping[str, Any]) -> None:
    with _writing(file):
        Path(file).write_text(json.dumps(content) + "\n", encoding="utf-8")


@contextmanager
def _writing(file: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise CommandError(f"--offsets {file}: cannot be written ({error.strerror})", Exit.FAILED) from None


def _document(restored: _Restored, moves: Sequence[MovedOffset], states: Mapping[Any, str]) -> dict[str, Any]:
    """Return the JSON document; docs/restore.md describes it."""
    return {
        "topics": list(restored.topics()),
        "groups": [
            plain.document(one, "source", "target")
            | plain.plain(one.target)
            | {"state": states.get((one.group, one.target))}
            for one in moves
        ],
    }


def _moved_row(one: MovedOffset, states: Mapping[Any, str]) -> list[str]:
    state = states.get((one.group, one.target), "not set") + (", was ahead of the backup" if one.is_ahead else "")
    return [one.group, one.target.topic, str(one.target.partition), number(one.old), number(one.new), state]


def _show(
    restored: _Restored, moves: Sequence[MovedOffset], states: Mapping[Any, str], out: TextIO, *, dry_run: bool
) -> None:
    topics = list(restored.topics())
    counts = ("partitions", "records", "had", "produced")
    table(_COLUMNS, [[one["target"], *(number(one[name]) for name in counts)] for one in topics], out)
    if moves:
        out.write("\n")
        table(_GROUP_COLUMNS, [_moved_row(one, states) for one in moves], out)
    if dry_run:
        missing = sum(one["records"] - one["had"] for one in topics)
        out.write(f"\n{plural(missing, 'record')} would be produced; nothing was written to Kafka\n")
