"""``logpersister quarantine replay``: what was refused and is good now goes to its folders, the rest stays.

One process, one object after the other: quarantine is the exception, and its objects are as small as a range. What
limits a replay is what limits the writing of one range. Memory: that of the writing of one range.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, TextIO

from logpersister import __version__
from logpersister.cli import brokers, bucket, context, registry
from logpersister.cli.exits import CommandError, Exit
from logpersister.cli.progress import counted
from logpersister.cli.stored import Entry, in_quarantine
from logpersister.cli.tables import printable, table
from logpersister.compiled.topic import CompiledTopic
from logpersister.group.offsets import OffsetReader
from logpersister.manifest import LogPersister, ManifestError
from logpersister.manifest.revisions.revision import (
    RevisionError,
    reached_like,
    resource_of,
    revision_of,
    revision_of_document,
)
from logpersister.manifest.secrets import Secrets
from logpersister.pipeline.rules import other_rules, rules_of
from logpersister.plan.intents import CommittedOffset, UnknownMetadataError
from logpersister.ranges import TopicPartition
from logpersister.registry import RegistryError
from logpersister.replay.execution import Judgement, Replayer, TopicOutput
from logpersister.replay.source import SourceError
from logpersister.report.human import number, plural
from logpersister.storage.errors import StorageError
from logpersister.storage.finished import horizon_of
from logpersister.storage.replayed import list_replayed
from logpersister.storage.replays import Replay
from logpersister.storage.revisions import get_revision, put_revision
from logpersister.storage.store import ObjectStore

Document = dict[str, Any]
Commits = Mapping[TopicPartition, CommittedOffset | UnknownMetadataError | None]

COLUMNS: Final = ("TOPIC", ">OBJECTS", ">RECORDS", ">ACCEPTED", ">REFUSED", ">LEFT OUT")
_WAITS: Final = (
    "a member or another replay is at work on it, or may soon be; replay it later, with --without-kafka only if the "
    "group has no members any more"
)


@dataclass(frozen=True, slots=True)
class Told:
    """What became of one object, or would."""

    entry: Entry
    judgement: Judgement
    replay: Replay | None = None
    waits: bool = False
    error: str | None = None

    @property
    def deleted(self) -> int:
        """How many records of it are nowhere any more, because the manifest leaves them out."""
        return 0 if self.replay is None else self.replay.deleted

    @property
    def key(self) -> str:
        return self.entry.listed.key

    @property
    def state(self) -> str:
        """A word for documents."""
        if self.error is not None:
            return "failed"
        if self.waits:
            return "waits"
        if self.replay is not None:
            return "replayed"
        if self.judgement.accepted:
            return "accepted"
        return "left-out" if self.judgement.left_out else "refused"


def run(arguments: argparse.Namespace) -> int:
    """Replay, or judge, and show what came out; objects that cannot be replayed make the command fail."""
    resource, secrets = context.begin(arguments, arguments.topic)
    table = resource.spec.table
    if table is not None and table.format == "iceberg" and not arguments.dry_run:
        raise CommandError(
            "spec.table: the objects of a replay would not be in the table; replay by a manifest without it where "
            "objects are enough, or store the records again by a higher generation (docs/tables.md#limits)",
            Exit.INVALID,
        )
    with (
        bucket.opened(resource, secrets) as store,
        registry.all_opened(secrets) as registries,
        registry.resources(resource, secrets) as resource_with_columns,
    ):
        found = list(in_quarantine(store, resource.spec.kafka, arguments.topic))  # a replay adds some
        commits: Commits | None = None
        away: dict[str, str] = {}
        if found and not arguments.without_kafka:
            partitions = {one.name.topic_partition for one in found}
            commits, away = _commits(resource, secrets, arguments.timeout, partitions)
        outputs = Outputs(resource, store, registries, resource_with_columns)
        replayer = Replayer(
            store,
            resource.group_id,
            outputs.now,
            outputs.under,
            outputs.put,
            lru_cache(outputs.horizon),
            leaves_out=arguments.leave_out,
        )
        replays = {topic: list_replayed(store, resource.group_id, topic) for topic in {one.name.topic for one in found}}
        unfinished = {(topic, it.generation) for topic, notes in replays.items() for it in notes if not it.done}
        told = list(_told(replayer, found, commits, away, unfinished, dry_run=arguments.dry_run))
    if arguments.json:
        print(json.dumps(document(resource, told, dry_run=arguments.dry_run)))
    else:
        show(told, sys.stdout, dry_run=arguments.dry_run, leaves_out=arguments.leave_out)
    for one in told:
        if one.error is not None:
            print(f"{printable(one.key)}: cannot be replayed: {printable(one.error)}", file=sys.stderr)
    failed = {one.entry.name.topic for one in told if one.error is not None}
    if failed <= away.keys():
        return Exit.UNREACHABLE if failed else Exit.OK
    return Exit.FAILED


class Outputs:
    """How revisions of a group write: that of the manifest, and those that have begun a replay."""

    def __init__(
        self,
        resource: LogPersister,
        store: ObjectStore,
        registries: registry.Registries,
        resource_with_columns: Any,
    ) -> None:
        self._resource = resource
        self._store = store
        self._registries = registries
        self._with_columns = resource_with_columns
        self.now = lru_cache(self._now)
        self.under = lru_cache(self._under)

    def put(self, revision: str, document: Mapping[str, Any]) -> None:
        """Store the snapshot of a revision."""
        put_revision(self._store, self._resource.group_id, revision, document)

    def horizon(self, topic: str, generation: int) -> int | None:
        """Return up to when the folders of a topic are finished, for what a generation has stored."""
        return horizon_of(self._store, self._resource.group_id, topic, generation)

    def _now(self, topic: str) -> TopicOutput:
        resource: LogPersister = self._with_columns(topic)
        revision = revision_of(resource, __version__, rules_of(resource))
        return TopicOutput(revision, self._compiled(resource))

    def _compiled(self, resource: LogPersister) -> CompiledTopic:
        return CompiledTopic(resource.spec, registry.writers_of(resource, self._registries))

    def _under(self, revision: str) -> TopicOutput:
        snapshot = get_revision(self._store, self._resource.group_id, revision)
        if snapshot is None:
            raise SourceError(
                f"its replay was begun under revision {revision}, whose snapshot is not in the bucket; restore it"
            )
        try:
            own = revision_of(self._resource, __version__).document
            resource = resource_of(reached_like(snapshot, own))
        except (RevisionError, ManifestError) as error:
            raise SourceError(f"its replay was begun under revision {revision}: {error}") from None
        others = other_rules(snapshot, resource)
        if others:
            raise SourceError(f"its replay was begun by {others}; finish it with that build")
        return TopicOutput(revision_of_document(snapshot), self._compiled(resource))


def _commits(
    resource: LogPersister, secrets: Secrets, seconds: float, partitions: Iterable[TopicPartition]
) -> tuple[Commits, dict[str, str]]:
    report = brokers.reach(resource, secrets, seconds, some_topics=True)
    config = brokers.config(resource, secrets, seconds, report)

    def ask() -> Commits:
        with closing(OffsetReader.of(resource, config)) as offsets:
            return offsets.committed(one for one in partitions if one.topic not in report.refused)

    commits = brokers.patiently("the committed offsets could not be read", seconds, ask)
    return commits, {topic: str(problem) for topic, problem in report.refused.items()}


def _told(
    replayer: Replayer,
    found: Sequence[Entry],
    commits: Commits | None,
    away: dict[str, str],
    unfinished: Container[tuple[str, int]],
    *,
    dry_run: bool,
) -> Iterator[Told]:
    """Replay or judge objects; `away`: why topics cannot be replayed now, to which those of silent registries come."""
    judged: set[str] = set()
    """Replays of this run: what they have refused was judged by this manifest a moment ago."""
    for entry in counted(iter(found), "objects replayed"):
        key, name = entry.listed.key, entry.name
        if name.replay in judged:
            continue
        if name.topic in away:
            yield Told(entry, Judgement(), error=away[name.topic])
            continue
        committed = None if commits is None else commits.get(name.topic_partition)
        try:
            if isinstance(committed, UnknownMetadataError):
                error = f"the committed offset of {name.topic_partition} cannot be read ({committed})"
                yield Told(entry, Judgement(), error=error)
            elif (name.topic, name.generation) in unfinished or (
                commits is not None and replayer.may_be_written(key, name, committed)
            ):
                yield Told(entry, Judgement(), waits=True)
            elif dry_run:
                yield Told(entry, replayer.judge(key, name))
            else:
                result = replayer.replay(key, name)
                if result.replay is not None and result.replay.revision == replayer.revision_of(name.topic):
                    judged.add(result.replay.id)
                yield Told(entry, result.judgement, result.replay, waits=result.waits)
        except SourceError as error:
            yield Told(entry, Judgement(), error=str(error))
        except RegistryError as error:
            away[name.topic] = f"registry: {error}"
            yield Told(entry, Judgement(), error=away[name.topic])
        except StorageError as error:
            if error.kind != "damaged":
                raise
            yield Told(entry, Judgement(), error=str(error))


def document(resource: LogPersister, told: Sequence[Told], *, dry_run: bool) -> Document:
    """Return the JSON document; docs/commands.md describes it."""
    return {
        "group": resource.group_id,
        "dryRun": dry_run,
        "objects": [
            {
                "object": one.key,
                "state": one.state,
                "records": one.judgement.records,
                "accepted": one.judgement.accepted,
                "refused": one.judgement.refused,
                "leftOut": one.judgement.left_out,
                "deleted": one.deleted,
                "adjusted": _adjusted([one]),
                "revision": one.replay.revision if one.replay is not None else None,
                "to": sorted(one.replay.objects or {}) if one.replay is not None else [],
                "message": _WAITS if one.waits else one.error,
            }
            for one in told
        ],
        "totals": {
            "objects": len(told),
            "records": sum(one.judgement.records for one in told),
            "accepted": sum(one.judgement.accepted for one in told),
            "refused": sum(one.judgement.refused for one in told),
            "leftOut": sum(one.judgement.left_out for one in told),
            "deleted": sum(one.deleted for one in told),
            "adjusted": _adjusted(told),
        },
    }


def _adjusted(told: Iterable[Told]) -> Document:
    reasons: Counter[str] = Counter()
    for one in told:
        reasons += one.judgement.adjusted
    return {"values": reasons.total(), "reasons": dict(reasons)}


def show(told: Sequence[Told], out: TextIO, *, dry_run: bool, leaves_out: bool) -> None:
    """Write a line for each topic, and what was done."""
    would = "would be " if dry_run else ""
    topics: dict[str, list[Told]] = {}
    for one in told:
        topics.setdefault(one.entry.name.topic, []).append(one)
    rows = []
    for topic, some in sorted(topics.items()):
        judged = [one.judgement for one in some if one.error is None]
        counts = [sum(getattr(one, name) for one in judged) for name in ("records", "accepted", "refused", "left_out")]
        rows.append([topic, number(len(some)), *(number(count) if judged else "-" for count in counts)])
    if rows:
        table(COLUMNS, rows, out)
        out.write("\n")
    accepted = sum(one.judgement.accepted for one in told)
    if dry_run:
        out.write(f"{plural(accepted, 'record')} would be replayed; nothing was written\n")
    else:
        out.write(f"{plural(accepted, 'record')} replayed\n")
    adjusted = _adjusted(told)
    if adjusted["values"]:
        reasons = ", ".join(f"{reason} {number(count)}" for reason, count in sorted(adjusted["reasons"].items()))
        out.write(f"{plural(adjusted['values'], 'value')} {would}adjusted, as faults of spec.value says: {reasons}\n")
    left_out = sum(one.judgement.left_out for one in told)
    deleted = left_out if dry_run and leaves_out else sum(one.deleted for one in told)
    if deleted:
        out.write(f"{plural(deleted, 'record')} that the manifest leaves out {would}deleted\n")
    if left_out > deleted:
        kept = f"{plural(left_out - deleted, 'record')} that the manifest leaves out {would}kept in quarantine"
        out.write(f"{kept}; --leave-out deletes such records\n")
    waiting = sum(one.waits for one in told)
    if waiting:
        out.write(f"{plural(waiting, 'object')} left for later: {_WAITS}\n")
