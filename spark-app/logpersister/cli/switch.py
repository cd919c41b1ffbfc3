"""``logpersister switch``: says which generation of a topic counts, and removes objects that do not."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TextIO

from logpersister.cli import bucket, context
from logpersister.cli.exits import CommandError, Exit
from logpersister.cli.progress import counted
from logpersister.cli.tables import Column, printable, table
from logpersister.manifest import LogPersister
from logpersister.report.human import number, plural, size
from logpersister.storage.current import Current, change_current, get_current
from logpersister.storage.replayed import ReplayNote, list_replayed
from logpersister.storage.store import ListedObject, ObjectStore
from logpersister.verify.inventory import stored_topics

MOST_AT_ONCE: Final = 1000
COLUMNS: Final = [
    Column("TOPIC"),
    Column("PARTITION", right=True),
    Column("FROM", right=True),
    Column("TO", right=True),
    Column("GENERATION", right=True),
]


@dataclass(frozen=True, slots=True)
class Switched:
    """A topic, and what counts of it now, or would."""

    topic: str
    current: Current


def run(arguments: argparse.Namespace) -> int:
    """Switch every topic that the replay has, then remove what does not count, if that is wanted."""
    resource, secrets = context.begin(arguments)
    with bucket.opened(resource, secrets) as store:
        notes = {topic: list(list_replayed(store, resource.group_id, topic)) for topic in _topics(resource, store)}
        wanted = _wanted(arguments, notes)
        switched = [_switch(store, resource, topic, arguments, notes[topic]) for topic in wanted]
        show(switched, sys.stdout, dry_run=arguments.dry_run)
        if arguments.delete_old:
            for one in switched:
                _delete_old(store, one, sys.stdout, dry_run=arguments.dry_run)
    return Exit.OK


def _topics(resource: LogPersister, store: ObjectStore) -> Iterator[str]:
    named = resource.spec.kafka.topics
    yield from named if named is not None else filter(resource.spec.kafka.selects, stored_topics(store))


def _wanted(arguments: argparse.Namespace, notes: dict[str, list[ReplayNote]]) -> list[str]:
    """Return the topics to switch: with a replay, those that it has stored; all of them, or none is switched."""
    generation = arguments.to_generation
    for topic in arguments.topics or ():
        if topic not in notes:
            raise CommandError(f"--topics: {printable(topic)} is no topic that spec.kafka selects", Exit.INVALID)
    chosen = sorted(arguments.topics or notes)
    of_replay = {topic: note for topic in chosen for note in notes[topic] if note.generation == generation}
    for topic, note in of_replay.items():
        if not note.done:
            raise CommandError(
                f"topic {printable(topic)}: the replay into generation {generation} is not finished; repeat "
                "logpersister replay until it is",
                Exit.FAILED,
            )
    if of_replay:
        return sorted(of_replay)
    replayed = [topic for topic in chosen if notes[topic]]
    if not replayed:
        raise CommandError("no topic has a replay, so everything that is stored counts (docs/replay.md)", Exit.FAILED)
    return replayed


def _switch(
    store: ObjectStore,
    resource: LogPersister,
    topic: str,
    arguments: argparse.Namespace,
    notes: Sequence[ReplayNote],
) -> Switched:
    note = next((one for one in notes if one.generation == arguments.to_generation), None)

    def change(current: Current) -> Current:
        return current.switched_back() if note is None else current.switched(note.generation, note.bounds)

    if note is None:
        _check_members(store, topic, arguments.to_generation, notes)
    if arguments.dry_run:
        return Switched(topic, change(get_current(store, resource.group_id, topic)))
    return Switched(topic, change_current(store, resource.group_id, topic, change))


def _check_members(store: ObjectStore, topic: str, generation: int, notes: Sequence[ReplayNote]) -> None:
    """Raise where a generation has nothing: a mistyped number must not switch back."""
    if not any(name.generation == generation for name, _ in store.inventory(topic)):
        replays = ", ".join(str(one.generation) for one in notes)
        raise CommandError(
            f"--to-generation {generation}: topic {printable(topic)} has no object of it; replays: {replays}",
            Exit.INVALID,
        )


def _delete_old(store: ObjectStore, one: Switched, out: TextIO, *, dry_run: bool) -> None:
    """Delete the objects of members that a replay has replaced; other replays stay, since one may switch to them."""
    objects, stored_bytes = 0, 0
    waiting: list[str] = []
    for listed in counted(_replaced(store, one), "objects looked at"):
        objects, stored_bytes = objects + 1, stored_bytes + listed.size
        waiting.append(listed.key)
        if len(waiting) == MOST_AT_ONCE and not dry_run:
            store.delete_all(waiting)
            waiting.clear()
    if waiting and not dry_run:
        store.delete_all(waiting)
    would = "would be deleted" if dry_run else "deleted"
    out.write(f"topic {printable(one.topic)}: {plural(objects, 'object')} ({size(stored_bytes)}) {would}\n")


def _replaced(store: ObjectStore, one: Switched) -> Iterator[ListedObject]:
    for name, listed in store.inventory(one.topic):
        if not one.current.is_of_replay(name) and not one.current.counts(name):
            yield listed


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
    counts = "would count" if dry_run else "counts"
    where = "outside of these ranges" if rows else f"of {plural(len(switched), 'topic')}"
    out.write(f"{where} {counts} what members have stored\n")
