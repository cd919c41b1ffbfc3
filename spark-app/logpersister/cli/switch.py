"""``logpersister switch``: says which generation of a topic counts, and removes objects that do not."""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TextIO

from logpersister.cli import bucket, context
from logpersister.cli.exits import CommandError, Exit
from logpersister.cli.progress import counted
from logpersister.cli.switched_tables import SwitchedTables
from logpersister.cli.tables import printable, table
from logpersister.finish.switched import note_switch
from logpersister.manifest import LogPersister
from logpersister.replay.switching import AT_ONCE, Change, NoGenerationError, SwitchError, change_to, replaced
from logpersister.report.human import number, plural, size
from logpersister.storage.current import Current, change_current, get_current
from logpersister.storage.replayed import ReplayNote, list_replayed
from logpersister.storage.store import ObjectStore
from logpersister.tables.exchange import Exchange

COLUMNS: Final = ("TOPIC", ">PARTITION", ">FROM", ">TO", ">GENERATION")


@dataclass(frozen=True, slots=True)
class Switched:
    """A topic, and what counts of it now, or would."""

    topic: str
    current: Current
    exchanges: Sequence[Exchange] = ()
    """What was done to its tables, or would be."""
    folders: int = 0
    """Number of its folders that members look at again."""


def run(arguments: argparse.Namespace) -> int:
    """Switch every topic that the replay has, then remove what does not count, if that is wanted."""
    resource, secrets = context.begin(arguments)
    group = resource.group_id
    with bucket.opened(resource, secrets) as store:
        notes = {topic: list(list_replayed(store, group, topic)) for topic in bucket.topics_of(store, resource)}
        wanted = _wanted(arguments, notes)
        tables = SwitchedTables(resource, secrets, store)
        try:
            changes = {topic: _change(store, topic, arguments, notes[topic]) for topic in wanted}
            switched = [_planned(store, group, tables, topic, change) for topic, change in changes.items()]
            if not arguments.dry_run:  # what one topic refuses is said before any is switched
                switched = [_switch(store, resource, tables, it, changes[it.topic]) for it in switched]
        except SwitchError as error:
            invalid = isinstance(error, NoGenerationError)
            raise CommandError(printable(str(error)), Exit.INVALID if invalid else Exit.FAILED) from None
        show(switched, sys.stdout, dry_run=arguments.dry_run)
        if arguments.delete_old:
            for topic, change in changes.items():
                _delete_old(store, group, topic, change, dry_run=arguments.dry_run)
    return Exit.OK


def _change(store: ObjectStore, topic: str, arguments: argparse.Namespace, notes: Sequence[ReplayNote]) -> Change:
    return change_to(store, topic, arguments.to_generation, notes, delete_old=arguments.delete_old)


def _planned(store: ObjectStore, group: str, tables: SwitchedTables, topic: str, change: Change) -> Switched:
    current = change(get_current(store, group, topic))
    return Switched(topic, current, tables.planned(topic, current))


def _switch(
    store: ObjectStore, resource: LogPersister, tables: SwitchedTables, planned: Switched, change: Change
) -> Switched:
    """Switch the tables of a topic, its document, and its finished folders: who dies in between repeats the command."""
    topic, group = planned.topic, resource.group_id
    exchanges = tables.switch(topic, planned.current)
    current = change_current(store, group, topic, change)
    folders = note_switch(store, group, topic, resource.spec.for_topic(topic), current)
    return Switched(topic, current, exchanges, folders)


def _wanted(arguments: argparse.Namespace, notes: dict[str, list[ReplayNote]]) -> list[str]:
    """Return the topics to switch: with a replay, those that it has stored; all of them, or none is switched."""
    generation = arguments.to_generation
    for topic in arguments.topics or ():
        if topic not in notes:
            raise CommandError(f"--topics: {printable(topic)} is no topic that spec.kafka selects", Exit.INVALID)
    chosen = sorted(arguments.topics or notes)
    of_replay = [topic for topic in chosen for note in notes[topic] if note.generation == generation]
    if of_replay:
        return of_replay
    replayed = [topic for topic in chosen if notes[topic]]
    if not replayed:
        raise CommandError("no topic has a replay, so everything that is stored counts (docs/replay.md)", Exit.FAILED)
    return replayed


def _delete_old(store: ObjectStore, group: str, topic: str, change: Change, *, dry_run: bool) -> None:
    """Delete the objects of members that a replay has replaced."""

    def current() -> Current:
        now = get_current(store, group, topic)
        return change(now) if dry_run else now

    objects, stored_bytes = 0, 0
    waiting: list[str] = []
    for listed in counted(replaced(store, topic, current), "objects looked at"):
        objects, stored_bytes = objects + 1, stored_bytes + listed.size
        waiting.append(listed.key)
        if len(waiting) == AT_ONCE and not dry_run:
            store.delete_all(waiting)
            waiting.clear()
    if waiting and not dry_run:
        store.delete_all(waiting)
    would = "would be deleted" if dry_run else "deleted"
    sys.stdout.write(f"topic {printable(topic)}: {plural(objects, 'object')} ({size(stored_bytes)}) {would}\n")


def show(switched: Sequence[Switched], out: TextIO, *, dry_run: bool) -> None:
    """Write where replays count."""
    rows = [
        [one.topic, number(partition), number(it.start), number(it.end), str(it.generation)]
        for one in switched
        for partition, segments in sorted(one.current.partitions.items())
        for it in segments
    ]
    if rows:
        table(COLUMNS, rows, out)
        out.write("\n")
    would = "would have" if dry_run else "has"
    for exchange in (exchange for one in switched for exchange in one.exchanges if exchange.shown is not None):
        added, removed = (sum(file.records for file in files) for files in (exchange.added, exchange.removed))
        out.write(
            f"table {exchange.table} {would} {plural(added, 'row')} in {plural(len(exchange.added), 'file')} instead "
            f"of {plural(removed, 'row')} in {plural(len(exchange.removed), 'file')}\n"
        )
    folders = sum(one.folders for one in switched)
    if folders:
        out.write(f"members make {plural(folders, 'folder')} known again, as far as they are finished\n")
    counts = "would count" if dry_run else "counts"
    where = "outside of these ranges" if rows else f"of {plural(len(switched), 'topic')}"
    out.write(f"{where} {counts} what members have stored\n")
