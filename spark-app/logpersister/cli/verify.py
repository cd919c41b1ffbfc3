"""``logpersister verify``: proves from Kafka and the bucket alone that every record is in exactly one object."""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import cache, lru_cache, partial
from typing import Any, TextIO

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from logpersister import __version__
from logpersister.cli import brokers, bucket, context, registry
from logpersister.cli.backed import BackedOffsets, BackedReader, Backup, backup_manifest
from logpersister.cli.compared_tables import compared_tables
from logpersister.cli.exits import Exit, UnreachableError
from logpersister.cli.progress import counted
from logpersister.cli.tables import printable, table
from logpersister.compiled.topic import CompiledTopic
from logpersister.formats.damage import ContentError
from logpersister.group.offsets import OffsetReader
from logpersister.group.replay_group import replay_group
from logpersister.kafka_client import BrokerReport
from logpersister.manifest import LogPersister, ManifestError
from logpersister.manifest.revisions.revision import RevisionError, reached_like, resource_of, revision_of
from logpersister.manifest.secrets import Secrets
from logpersister.pipeline.connections import open_reader
from logpersister.pipeline.reader import KafkaReader
from logpersister.pipeline.rules import other_rules
from logpersister.ranges import TopicPartition
from logpersister.records.type_folders import folders_by_time
from logpersister.registry import RegistryError
from logpersister.report import plain
from logpersister.report.human import number, plural, size
from logpersister.storage.copies import Copy, open_copies
from logpersister.storage.deletions import list_deletions
from logpersister.storage.errors import StorageError
from logpersister.storage.left_out import list_left_out
from logpersister.storage.losses import list_losses
from logpersister.storage.replayed import list_replayed
from logpersister.storage.replays import list_replays
from logpersister.storage.revisions import get_revision
from logpersister.storage.store import ObjectStore
from logpersister.verify.copies import copy_findings
from logpersister.verify.deep import DeepVerification, WritingOf
from logpersister.verify.evidence import StoredObject
from logpersister.verify.findings import Finding, Kind
from logpersister.verify.inventory import judged, stored_topics, with_facts
from logpersister.verify.missing_offsets import LeavesOut, Omissions, leaves_out
from logpersister.verify.verification import Commits, TopicResult, Verification, VerifiedGroup, waiting
from logpersister.verify.writing import Writing

Document = dict[str, Any]

MOST_NOTES = 10
"""Notes of one kind that people are shown; ``--json`` has all."""


def run(arguments: argparse.Namespace) -> int:
    """Verify every topic, show what was found, and tell by the exit code whether the promise is kept."""
    resource, secrets = context.begin(arguments)
    found = brokers.reach(resource, secrets, arguments.timeout, some_topics=True)
    with (
        bucket.opened(resource, secrets) as store,
        open_copies(resource.spec.storage, secrets) as copies,
        _kafka(resource, secrets, arguments, found) as (offsets, reader),
        registry.all_opened(secrets) as registries,
        registry.resources(resource, secrets) as with_columns,
    ):
        topics = _topics(resource, store, found, arguments.topic)
        writing_of = _writings(resource, store, registries)
        compared = compared_tables(resource, store, secrets, reader, writing_of, deep=arguments.deep)
        # A backup may have begun before the group.
        from_earliest = resource.spec.kafka.start_from == "earliest" and arguments.backup is None
        verification = Verification(
            VerifiedGroup(resource.group_id, resource.spec.generation, from_earliest),
            offsets,
            reader,
            lambda topic: compared.objects(topic, _judged(store, resource, offsets, topic)),
            list(list_losses(store, resource.group_id)),
            DeepVerification(reader, partial(_content, store), writing_of) if arguments.deep else None,
            lambda topic: list_replays(store, resource.group_id, topic),
            store.prefix,
            lambda topic: list_left_out(store, resource.group_id, topic),
            lambda topic: _omissions(resource, topic, with_columns, registries, writing_of if arguments.deep else None),
            lambda topic: list_replayed(store, resource.group_id, topic),
            lambda topic: list_deletions(store, resource.group_id, topic),
        )
        if not topics:
            pattern = resource.spec.kafka.topic_pattern
            raise UnreachableError(
                f'spec.kafka.topicPattern: "{pattern}" matches no topic of Kafka and none in the bucket, so there is '
                "nothing to verify; correct the pattern"
            )
        results = []
        for topic, partitions in topics:
            if topic in found.refused:
                results.append(TopicResult(topic, errors=[str(found.refused[topic])]))
            else:
                result = _verified(verification, topic, partitions, arguments.timeout, compared.compare)
                _compare_copies(result, resource, store, copies, deep=arguments.deep)
                results.append(result)
    if arguments.json:
        sys.stdout.write(json.dumps(document(resource, results)) + "\n")
    else:
        show(resource.group_id, results, sys.stdout)
    for result in results:
        for error in result.errors:
            print(f"topic {result.topic}: {printable(error)}", file=sys.stderr)
    return exit_code(results)


def _verified(
    verification: Verification, topic: str, partitions: int, seconds: float, compare: Callable[[TopicResult], None]
) -> TopicResult:
    """Verify a topic, and `compare` its tables; what its registry does not answer concerns no other topic."""
    try:
        doing = f"topic {topic} cannot be verified"
        result = brokers.patiently(doing, seconds, lambda: verification.topic(topic, partitions))
        compare(result)
    except RegistryError as error:
        return TopicResult(topic, errors=[str(error)])
    return result


def _compare_copies(
    result: TopicResult, resource: LogPersister, store: ObjectStore, copies: Sequence[Copy], *, deep: bool
) -> None:
    """Compare the archives of a topic with those of copies; one that is away is told once, and hides no finding."""
    layout = folders_by_time(resource.spec.for_topic(result.topic))
    if layout is None:
        return
    for copy in copies:
        try:
            result.findings += copy_findings(
                store, resource.group_id, result.topic, layout, copy, bucket.using, deep=deep
            )
        except UnreachableError as error:
            result.errors.append(str(error))


def exit_code(results: Sequence[TopicResult]) -> Exit:
    """Return the worst of what was found."""
    if any(result.problems for result in results) or waiting(results):
        return Exit.BROKEN
    return Exit.UNREACHABLE if any(result.errors for result in results) else Exit.OK


@contextmanager
def _kafka(
    resource: LogPersister, secrets: Secrets, arguments: argparse.Namespace, found: BrokerReport
) -> Iterator[tuple[OffsetReader | BackedOffsets, KafkaReader | BackedReader]]:
    """Open what asks for offsets, and what reads records: for a deep look with headers, which a revision may need."""
    seconds = arguments.timeout
    config = brokers.config(resource, secrets, seconds, found)
    offsets = brokers.patiently("the offsets could not be read", seconds, lambda: OffsetReader.of(resource, config))
    with closing(offsets), closing(open_reader(resource, secrets, headers=arguments.deep)) as reader:
        named = arguments.backup
        backed_up = None if named is None else backup_manifest(named, resource, verbatim=True)
        with Backup.opened(backed_up, secrets) as backup:
            if backup is None:
                yield offsets, reader
                return
            with closing(BackedReader(reader, backup)) as backed:
                yield BackedOffsets(offsets, backup), backed


def _topics(resource: LogPersister, store: ObjectStore, found: BrokerReport, only: str | None) -> list[tuple[str, int]]:
    """Return the topics to verify with the number of their partitions; 0: Kafka does not have it (any more)."""
    named = resource.spec.kafka.topics
    if only is not None:
        wanted: Iterable[str] = [only]
    elif named is not None:
        wanted = named
    else:
        wanted = [*found.topics, *found.refused, *filter(resource.spec.kafka.selects, stored_topics(store))]
    return [(topic, found.topics.get(topic, 0)) for topic in sorted(set(wanted))]


def _judged(
    store: ObjectStore, resource: LogPersister, offsets: OffsetReader | BackedOffsets, topic: str
) -> Iterator[StoredObject]:
    def commits_of(generation: int, partitions: Iterable[TopicPartition]) -> Commits:
        return offsets.committed(partitions, replay_group(resource.group_id, generation))

    def stored() -> Iterator[StoredObject]:
        return counted(with_facts(store, store.inventory(topic)), f"objects of {printable(topic)} read")

    return judged(list_replayed(store, resource.group_id, topic), commits_of, stored)


def _writings(resource: LogPersister, store: ObjectStore, registries: registry.Registries) -> WritingOf:
    @lru_cache
    def writing_of(revision: str) -> Writing | str:
        snapshot = get_revision(store, resource.group_id, revision)
        if snapshot is None:
            return f"the snapshot of its revision {revision} is not in the bucket, so its format is not known"
        try:
            own = revision_of(resource, __version__).document
            written = resource_of(reached_like(snapshot, own))
            return Writing(
                written.spec, registry.writers_of(written, registries), other_rules=other_rules(snapshot, written)
            )
        except (RevisionError, ManifestError) as error:
            return f"its revision {revision} cannot be read ({error})"

    return writing_of


def _content(store: ObjectStore, key: str) -> Generator[bytes, None, None]:
    try:
        yield from store.read(key)
    except StorageError as error:
        if error.code != "NoSuchKey":
            raise
        raise ContentError("it was deleted after it had been listed") from None


def _omissions(
    resource: LogPersister,
    topic: str,
    with_columns: Callable[[str], LogPersister],
    registries: registry.Registries,
    writing_of: WritingOf | None,
) -> Omissions:
    @cache
    def by_manifest() -> LeavesOut:  # made only where an offset is in no object, because a registry may be asked
        found = with_columns(topic)
        return leaves_out(CompiledTopic(found.spec, registry.writers_of(found, registries)).judging)

    def of_manifest(batch: pa.RecordBatch) -> npt.NDArray[np.bool_]:
        return by_manifest()(batch)

    def written_by(revision: str) -> Writing | None:
        found = None if writing_of is None else writing_of(revision)
        return None if isinstance(found, str) else found

    def of_revision(revision: str) -> LeavesOut | None:
        writing = written_by(revision)
        return None if writing is None else leaves_out(writing.judging)

    def of_replayed(revision: str, horizon: int | None) -> LeavesOut | None:
        writing = written_by(revision)
        return None if writing is None else leaves_out(writing.layout_at(horizon), counts_refused=True)

    left_out = resource.spec.for_topic(topic).leaves_out
    return Omissions(of_manifest if left_out else None, of_revision, of_replayed)


def document(resource: LogPersister, results: Sequence[TopicResult]) -> Document:
    """Return the JSON document; docs/commands.md describes it."""
    storage = resource.spec.storage
    return {
        "group": resource.group_id,
        "bucket": storage.bucket,
        "prefix": storage.prefix,
        "ok": exit_code(results) == Exit.OK,
        "complete": not any(result.errors for result in results),
        "topics": [
            {"topic": result.topic, "partitions": result.partitions, "objects": result.objects, "bytes": result.bytes,
             "records": result.records, "compared": result.compared, "tableRows": result.table_rows,
             "pending": result.pending, "problems": result.problems, "notes": result.notes}
            for result in results
        ],
        "findings": [
            {"problem": finding.is_problem, "object": finding.key, **plain.document(finding, "key")}
            for result in results
            for finding in result.findings
        ],
        "errors": [{"topic": result.topic, "message": error} for result in results for error in result.errors],
    }  # fmt: skip


def show(group_id: str, results: Sequence[TopicResult], out: TextIO) -> None:
    """Write the table of topics, then the findings, problems first, and the verdict."""
    deep = any(result.compared is not None for result in results)
    in_tables = any(result.table_rows is not None for result in results)
    more = [name for name, is_shown in ((">COMPARED", deep), (">TABLE ROWS", in_tables)) if is_shown]
    columns = ["TOPIC", ">PARTITIONS", ">OBJECTS", ">BYTES", ">RECORDS", *more, ">NOTES", ">PROBLEMS"]
    table(columns, [_row(result, deep=deep, in_tables=in_tables) for result in results], out)
    findings = [finding for result in results for finding in result.findings]
    _show_findings([finding for finding in findings if finding.is_problem], out)
    _show_findings(_few([finding for finding in findings if not finding.is_problem]), out)
    out.writelines(f"\n{line}\n" for line in _verdict(group_id, results))


def _row(result: TopicResult, *, deep: bool, in_tables: bool) -> list[str]:
    of_objects = [number(result.partitions), number(result.objects), size(result.bytes), number(result.records)]
    compared = [number(result.compared or 0)] if deep else []
    rows = [number(result.table_rows or 0)] if in_tables else []
    return [result.topic, *of_objects, *compared, *rows, number(result.notes), number(result.problems)]


def _show_findings(findings: Sequence[Finding | str], out: TextIO) -> None:
    if findings:
        out.write("\n")
    out.writelines(printable(str(finding)) + "\n" for finding in findings)


def _few(notes: Sequence[Finding]) -> list[Finding | str]:
    seen: Counter[Kind] = Counter()
    shown: list[Finding | str] = []
    for note in notes:
        seen[note.kind] += 1
        if seen[note.kind] <= MOST_NOTES:
            shown.append(note)
    more = {kind: count - MOST_NOTES for kind, count in seen.items() if count > MOST_NOTES}
    return shown + [f"{kind}: {count:,} more (--json has all)" for kind, count in more.items()]


def _verdict(group_id: str, results: Sequence[TopicResult]) -> Iterator[str]:
    problems = sum(result.problems for result in results)
    if any(result.errors for result in results):
        yield "incomplete: a part could not be read, see the errors"
    if problems:
        yield f"group {group_id}: {plural(problems, 'problem')}"
    elif offsets := waiting(results):
        yield (
            f"group {group_id}: nothing is stored, and {plural(offsets, 'record')} wait in Kafka; there is nothing to "
            "verify. Check spec.kafka.groupId, and that a member runs (logpersister lag)"
        )
    elif not any(result.errors for result in results):
        yield from _no_problem(group_id, results)
    yield from _in_no_row(results)


def _in_no_row(results: Sequence[TopicResult]) -> Iterator[str]:
    records = sum(result.records for result in results)
    if quarantined := sum(result.quarantined for result in results):
        yield (
            f"in quarantine: {quarantined:,} of {plural(records, 'record')}, which the parser refused; see why with "
            "logpersister quarantine (docs/quarantine.md)"
        )
    if tombstones := sum(result.tombstones for result in results):
        yield (
            f"without a value: {tombstones:,} of {plural(records, 'record')} (tombstones); files have them unless "
            "tombstones of spec.output is skip"
        )


def _no_problem(group_id: str, results: Sequence[TopicResult]) -> Iterator[str]:
    pending = sum(result.pending for result in results)
    promised = f"{plural(pending, 'offset')} promised, not committed yet; see whether a member runs (logpersister lag)"
    if pending and not any(result.objects for result in results):
        yield f"group {group_id}: no problem, but nothing is stored yet: {promised}"
        return
    yield f"group {group_id}: no problem; every stored offset is in one object, or explained"
    if pending:
        yield f"not verified: {promised}"
