"""``logpersister replay``: stores history again under the manifest, from Kafka or a backup, beside the live group."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Final, TextIO

import structlog

from logpersister.backup.listing import TopicBackup
from logpersister.cli import brokers, bucket, check, context
from logpersister.cli.backed import Backup, backup_manifest, check_backup, text_of
from logpersister.cli.exits import CommandError, Exit
from logpersister.cli.run import start
from logpersister.cli.tables import printable, table
from logpersister.forms.sparse import sparse
from logpersister.group.offsets import OffsetReader
from logpersister.group.replay_group import replay_group
from logpersister.manifest import LogPersister
from logpersister.manifest.blocks.table import TableSpec
from logpersister.manifest.revisions.revision import revision_of
from logpersister.manifest.secrets import Secrets
from logpersister.member.bounded import Replay
from logpersister.member.process import MemberOptions
from logpersister.pipeline.session import fork_early
from logpersister.pipeline.source import ReplaySource
from logpersister.ranges import Span
from logpersister.replay.moments import BackupMoments
from logpersister.replay.planning import PlannedTopic, Planner, ReplayError, Wish
from logpersister.report import logs
from logpersister.report.human import number, plural
from logpersister.storage.replayed import end_replay
from logpersister.storage.store import ObjectStore
from logpersister.storage.untold import TABLE, list_untold

log = structlog.get_logger(__name__)

ANY_CODE: Final = ""
"""A replay may be finished by another release than it was begun by: its ranges keep the revision of their promise."""
COLUMNS: Final = ("TOPIC", ">PARTITION", ">FROM", ">TO", ">OFFSETS", ">KAFKA HAS FROM")


def run(arguments: argparse.Namespace) -> int:
    """Plan, note the plan, and be a member of the replay's group until all of it is stored."""
    live = context.manifest(arguments.file)
    backed_up = None if arguments.backup is None else backup_manifest(arguments.backup, live)
    _refuse(arguments, live, backed_up)
    if not arguments.dry_run:
        fork_early(live.spec.spark)
    group = replay_group(live.group_id, live.spec.generation)
    logs.configure(arguments.log_format, arguments.log_level, context={"group": group})
    secrets = context.secrets(arguments)
    resource = replayed(live, _topics(live, arguments, secrets))
    topics = resource.spec.kafka.topics or ()
    if backed_up is not None:
        check_backup(backed_up, live, topics)
    with bucket.opened(resource, secrets) as store, Backup.opened(backed_up, secrets) as backup:
        kept = {topic: None if backup is None else backup.topic(topic) for topic in topics}
        backups = {topic: found for topic, found in kept.items() if found is not None}
        planned = _planned(arguments, live, resource, secrets, store, backup, backups)
        show(planned, sys.stderr)
        if arguments.dry_run:
            return Exit.OK
        left = [one for one in planned if not one.note.done]  # what is done is never stored again, by nobody
        if not left:
            return _ended(live, planned)
        bounds = {p: range_ for one in left for p, range_ in one.note.ranges().items()}
        cuts = {p: offsets for one in left for p, offsets in one.cuts().items()}
        of_partitions = {p: found for one in backups.values() for p, found in one.partitions.items()}
        source = _source(backed_up, topics, arguments)
        options = MemberOptions(
            until_current=True,
            http=arguments.http,
            cores=arguments.cores,
            replay=Replay(group, bounds, source, None if backed_up is None else of_partitions, cuts),
        )
        resource = replayed(live, [one.note.topic for one in left])
        check.before_start(resource, secrets, arguments.timeout, until_current=True)
        code = start(resource, secrets, options)
        if code != Exit.OK:
            return code
        if not _is_whole(resource, secrets, arguments.timeout, group, left):
            return Exit.FAILED  # a signal has stopped it
        if not _is_registered(store, live, left):
            return Exit.FAILED  # who was to do that has died, or is about to
        for one in left:
            end_replay(store, live.group_id, one.note)
    return _ended(live, planned)


def _source(backup: LogPersister | None, topics: Sequence[str], arguments: argparse.Namespace) -> ReplaySource:
    source = ReplaySource(None, kafka=arguments.source != "backup", bytes_per_second=arguments.max_bytes_per_second)
    return source if backup is None else replace(source, backup=backup.spec.storage, text=text_of(backup, topics))


def replayed(live: LogPersister, topics: Sequence[str]) -> LogPersister:
    """Return the manifest of a replay: of these topics only, and without finished folders, which the group tells."""
    spec = sparse(live.spec)
    ways = ("topics", "topicPattern", "excludeTopicPattern")
    kafka = {name: value for name, value in spec["kafka"].items() if name not in ways}
    overrides = [
        {**one, "topics": named}
        for one in spec.pop("overrides", [])
        if (named := [topic for topic in one["topics"] if topic in topics])
    ]
    spec.pop("finish", None)
    spec.get("table", {}).pop("partitions", None)  # of a Hive table, which may wait for finished folders
    spec["storage"].pop("copies", None)
    sections = {**spec, "kafka": {**kafka, "groupId": live.group_id, "topics": list(topics)}}
    return context.replaced(live, {**sections, **({"overrides": overrides} if overrides else {})})


def _refuse(arguments: argparse.Namespace, live: LogPersister, backup: LogPersister | None) -> None:
    if arguments.source == "backup" and backup is None:
        raise CommandError("--source backup: needs --backup FILE, the manifest of the backup", Exit.INVALID)
    if arguments.source == "kafka" and backup is not None:
        raise CommandError("--backup: is not read with --source kafka; leave one of them out", Exit.INVALID)
    _refuse_tables(live)
    if any(one.output.format == "kafka" for one in live.spec.variants()):
        raise CommandError("spec.output.kafka: a backup is copied, not replayed; name another format", Exit.INVALID)


def hive_table(live: LogPersister, topic: str) -> TableSpec | None:
    """Return the Hive table of a topic; None: it has none."""
    table = live.spec.table_of(topic)
    return table if table is not None and table.format == "hive" else None


def _refuse_tables(live: LogPersister) -> None:
    """Raise for a table whose rows a switch could not replace."""
    for spec in filter(None, (one.table for one in live.spec.variants())):
        if spec.format == "iceberg" and "{generation}" in spec.name:
            raise CommandError(
                "spec.table.name: has {generation} in it, so a replay would have a table of its own, which nobody "
                "appends to; name the table of the group",
                Exit.INVALID,
            )


def _topics(live: LogPersister, arguments: argparse.Namespace, secrets: Secrets) -> list[str]:
    """Return the topics that are replayed; each must be there and readable."""
    found = brokers.reach(live, secrets, arguments.timeout)
    wanted = arguments.topics if arguments.topics is not None else sorted(found.topics)
    for topic in wanted:
        if not live.spec.kafka.selects(topic):
            raise CommandError(f"--topics: {printable(topic)} is no topic that spec.kafka selects", Exit.INVALID)
        if topic not in found.topics:
            raise CommandError(f"--topics: Kafka has no topic {printable(topic)}", Exit.UNREACHABLE)
    if not wanted:
        raise CommandError("spec.kafka: Kafka has none of its topics, so there is nothing to replay", Exit.UNREACHABLE)
    return list(wanted)


def _planned(
    arguments: argparse.Namespace,
    live: LogPersister,
    resource: LogPersister,
    secrets: Secrets,
    store: ObjectStore,
    backup: Backup | None,
    backups: dict[str, TopicBackup],
) -> list[PlannedTopic]:
    """Plan all topics before the first is begun: what cannot be replayed is said while nothing is written."""
    config = brokers.config(resource, secrets, arguments.timeout, brokers.reach(resource, secrets, arguments.timeout))
    revision = revision_of(live, ANY_CODE).hash
    with closing(OffsetReader.of(resource, config)) as offsets:
        moments = None if backup is None else BackupMoments(backup.store)
        kafka = arguments.source != "backup"
        planner = Planner(
            store,
            live.group_id,
            live.spec.generation,
            revision,
            offsets,
            moments,
            kafka=kafka,
            alone=lambda topic: hive_table(live, topic) is not None,
        )
        wish = Wish(arguments.since, arguments.until)

        def plan() -> list[PlannedTopic]:
            return [planner.plan(topic, backups.get(topic), wish) for topic in resource.spec.kafka.topics or ()]

        try:
            planned = brokers.patiently("the replay cannot be planned", arguments.timeout, plan)
            if arguments.dry_run or not any(one.note.bounds for one in planned):
                return planned
            # Also a topic of which nothing is stored: when this is repeated, nothing of it is planned anew.
            return [planner.begin(one) for one in planned]
        except ReplayError as error:
            raise CommandError(str(error), Exit.FAILED if error.passes else Exit.HELD) from None


def _is_whole(
    resource: LogPersister, secrets: Secrets, seconds: float, group: str, planned: Sequence[PlannedTopic]
) -> bool:
    """Whether the group of the replay has committed all of it: a member that was stopped ends well, too."""
    config = brokers.config(resource, secrets, seconds, brokers.reach(resource, secrets, seconds))
    wanted = {partition: range_ for one in planned for partition, range_ in one.note.ranges().items()}
    committed_only = resource.spec.kafka.reads_committed
    with closing(OffsetReader(config, group, read_committed=committed_only)) as offsets:
        found = brokers.patiently("the end cannot be seen", seconds, lambda: offsets.committed(wanted))
    left = {p: range_ for p, range_ in wanted.items() if getattr(found.get(p), "offset", -1) < range_.end}
    if left:
        log.warning("replay.stopped", partitions=len(left), message="the same command goes on where it has stopped")
    return not left


def _is_registered(store: ObjectStore, live: LogPersister, planned: Sequence[PlannedTopic]) -> bool:
    """Whether the folders of Hive tables are partitions: what is done is begun by nobody again."""
    noted = list_untold(store, live.group_id, TABLE)
    left = [one.note.topic for one in planned if one.note.topic in noted]
    if left:
        message = "another process registers folders, or none does: the same command goes on"
        log.warning("replay.unregistered", topics=left, message=message)
    return not left


def _ended(live: LogPersister, planned: Sequence[PlannedTopic]) -> int:
    spans = sum(len(one.note.bounds) for one in planned)
    if not spans:
        print("there is nothing to store again: the group has stored nothing of that time", file=sys.stderr)
        return Exit.OK
    generation = live.spec.generation
    how = f"readers see it after logpersister switch -f FILE --to-generation {generation}"
    views = [
        f"  {table.full_name(one.note.topic, generation)}, and the other table where {outside(one.note.bounds)}"
        for one in planned
        if (table := hive_table(live, one.note.topic)) is not None
    ]
    if views:
        how = "\n".join(["readers see it by a view of (docs/replay.md#hive-tables)", *views])
    print(f"generation {generation}: {plural(spans, 'partition')} stored again; {how}", file=sys.stderr)
    return Exit.OK


def outside(bounds: Mapping[int, Span]) -> str:
    """Return the condition of SQL by which rows are of no offset that a replay has stored."""
    spans = (
        f"kafka_partition = {partition} AND kafka_offset >= {start} AND kafka_offset < {end}"
        for partition, (start, end) in sorted(bounds.items())
    )
    return "NOT ({})".format(" OR ".join(f"({one})" for one in spans)) if bounds else "TRUE"


def show(planned: Sequence[PlannedTopic], out: TextIO) -> None:
    """Write what is stored again of each partition."""
    rows = [
        [one.note.topic, *map(number, (partition, begin, end, end - begin, one.deleted.get(partition, 0)))]
        for one in planned
        for partition, (begin, end) in sorted(one.note.bounds.items())
    ]
    table(COLUMNS, rows, out)
    for one in planned:
        if one.resumes:
            out.write(f"topic {printable(one.note.topic)}: goes on as it was begun\n")
