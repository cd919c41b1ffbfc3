"""``logpersister finish``: finishes folders by hand, and says of each other one why it is not finished."""

import argparse
import json
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Final, TextIO

from logpersister.cli import brokers, bucket, context
from logpersister.cli.exits import CommandError, Exit, UnreachableError
from logpersister.cli.tables import printable, table
from logpersister.finish.by_hand import Judged, State, judge
from logpersister.finish.look import TopicFolders, in_words
from logpersister.finish.positions import NotKnownError
from logpersister.finish.publishing import OvertakenError
from logpersister.finish.telling import NotTakenError, Teller
from logpersister.finish.watermark import at
from logpersister.group.offsets import OffsetReader
from logpersister.manifest import LogPersister
from logpersister.manifest.rules.table_rules import registration
from logpersister.member.telling import tellers, telling_of
from logpersister.records.type_folders import finished_folders
from logpersister.report.human import plural
from logpersister.storage.copies import open_copies
from logpersister.storage.facts import ForeignObjectError
from logpersister.storage.finished import list_arrivals
from logpersister.storage.store import ObjectStore
from logpersister.storage.untold import list_untold

Document = dict[str, Any]
Told = Mapping[str, Sequence[Judged]]

COLUMNS: Final = ("TOPIC", "FOLDER", "ENDS", "STATE", ">NUMBER", "WHY")


def run(arguments: argparse.Namespace) -> int:
    """Finish what can be finished, and show all folders that were judged."""
    resource, secrets = context.begin(arguments, arguments.topic)
    if resource.spec.finish is None:
        raise CommandError("spec.finish is not set, so no folder is finished; set it (docs/finish.md)", Exit.INVALID)
    found = brokers.reach(resource, secrets, arguments.timeout, some_topics=True)
    config = brokers.config(resource, secrets, arguments.timeout, found)
    with (
        bucket.opened(resource, secrets) as store,
        open_copies(resource.spec.storage, secrets) as copies,
        closing(OffsetReader.of(resource, config)) as offsets,
    ):
        topics = _topics(resource, offsets, arguments.topic, arguments.timeout)
        judged: dict[str, Sequence[Judged]] = {}
        errors: dict[str, CommandError] = {
            topic: UnreachableError(str(problem)) for topic, problem in found.refused.items() if topic in topics
        }
        for topic in (one for one in topics if one not in errors):
            try:
                judged[topic] = _judged(resource, topic, store, offsets, arguments)
            except CommandError as error:  # what is wrong with a topic concerns no other
                errors[topic] = error
        telling: Sequence[TellingOutcome] = ()
        if not arguments.dry_run:
            whom = tellers(resource, store, copies, config, secrets)
            telling = list(_tell(resource, whom, store, topics))
    if arguments.json:
        print(json.dumps(document(resource, judged, telling, errors, dry_run=arguments.dry_run)))
    else:
        show(judged, telling, sys.stdout, dry_run=arguments.dry_run)
    for failure in errors.values():
        print(failure, file=sys.stderr)
    failed = Exit.FAILED if any(one.problem for one in telling) else Exit.OK
    return max((error.code for error in errors.values()), default=failed)


@dataclass(frozen=True, slots=True)
class TellingOutcome:
    """Result of the notifications of a topic."""

    policy: str
    topic: str
    told: int
    problem: str = ""
    """Why some were not accepted; members send them later unless they were refused."""


def _tell(
    resource: LogPersister, whom: Iterable[Teller], store: ObjectStore, topics: Collection[str]
) -> Iterator[TellingOutcome]:
    for teller in whom:
        telling, untold = telling_of(resource, store, teller), list_untold(store, resource.group_id, teller.policy)
        for topic in sorted(untold.keys() & set(topics)):
            try:
                told = telling.tell(topic, untold[topic])
            except NotTakenError as error:
                yield TellingOutcome(teller.policy, topic, 0, f"{error}; members tell it later")
            else:
                problem = told.refused[-1].reason if told.refused else ""
                yield TellingOutcome(teller.policy, topic, told.folders, problem)


def _topics(resource: LogPersister, offsets: OffsetReader, topic: str | None, seconds: float) -> Sequence[str]:
    kafka = resource.spec.kafka
    if topic is not None:
        return [topic]
    if kafka.topics is not None:
        return kafka.topics
    return brokers.patiently("the topics could not be listed", seconds, lambda: offsets.topics_matching(kafka.selects))


def _judged(
    resource: LogPersister, topic: str, store: ObjectStore, offsets: OffsetReader, arguments: argparse.Namespace
) -> Sequence[Judged]:
    spec = resource.spec.for_topic(topic)
    found = finished_folders(spec)
    if found is None:
        return []
    finish, layout = found
    folders = TopicFolders(
        topic,
        layout,
        finish,
        offsets,
        store,
        resource.group_id,
        generation=spec.generation,
        assume_idle=arguments.assume_idle,
        registers=registration(spec) == "onFinish",
        awaits_copies=bool(spec.storage.copies),
        archives_again=arguments.since is not None and not arguments.dry_run,
    )

    def ask() -> Sequence[Judged]:
        arrivals = list_arrivals(store, resource.group_id).get(topic, ())
        return judge(folders, arrivals, since=arguments.since, until=arguments.until, dry_run=arguments.dry_run)

    try:
        return brokers.patiently("the offsets could not be read", arguments.timeout, ask)
    except NotKnownError as error:
        raise UnreachableError(f"spec.kafka: {error}", may_pass=True) from error
    except (ForeignObjectError, OvertakenError) as error:
        raise CommandError(f"{topic}: {error}", Exit.FAILED) from error


def document(
    resource: LogPersister,
    judged: Told,
    telling: Sequence[TellingOutcome],
    errors: Mapping[str, CommandError],
    *,
    dry_run: bool,
) -> Document:
    """Return the JSON document; docs/commands.md describes it."""
    return {
        "group": resource.group_id,
        "dryRun": dry_run,
        "topics": [{"topic": topic, "folders": [_folder(one) for one in folders]} for topic, folders in judged.items()],
        "telling": [
            {"policy": one.policy, "topic": one.topic, "told": one.told, "problem": one.problem or None}
            for one in telling
        ],
        "errors": [{"topic": topic, "message": str(error)} for topic, error in errors.items()],
    }


def _folder(one: Judged) -> Document:
    return {
        "folder": one.folder.path,
        "end": at(one.folder.end),
        "state": str(one.state),
        "number": None if one.published is None else one.published.number,
        "waitsFor": {str(partition): reason for partition, reason in one.reasons.items()},
    }


def show(told: Told, telling: Sequence[TellingOutcome], out: TextIO, *, dry_run: bool) -> None:
    """Write a line for each folder, and what was done."""
    rows = [[printable(topic), *_row(one)] for topic, judged in told.items() for one in judged]
    if rows:
        table(COLUMNS, rows, out)
        out.write("\n")
    every = [one for judged in told.values() for one in judged]
    count = sum(one.state is State.NOW for one in every)
    out.write(f"{plural(count, 'folder')} {'would be finished; nothing was written' if dry_run else 'finished'}\n")
    left = sum(one.state in (State.WAITS, State.OPEN) for one in every)
    if left:
        out.write(f"{plural(left, 'folder')} not finished\n")
    for one in telling:
        out.write(f"{one.policy}, topic {printable(one.topic)}: {plural(one.told, 'folder')} told")
        out.write(f"; {printable(one.problem)}\n" if one.problem else "\n")


def _row(one: Judged) -> list[str]:
    number = "-" if one.published is None else str(one.published.number)
    why = in_words(one.reasons) if one.reasons else one.reason
    return [printable(one.folder.path), at(one.folder.end), str(one.state), number, why]
