"""``logpersister switch``: says which generation of a topic counts, and removes objects that do not."""

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
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
    group = resource.group_id
    with bucket.opened(resource, secrets) as store:
        notes = {topic: list(list_replayed(store, group, topic)) for topic in _topics(resource, store)}
        wanted = _wanted(arguments, notes)
        changes = {topic: _change(store, topic, arguments, notes[topic]) for topic in wanted}
        switched = [Switched(topic, change(get_current(store, group, topic))) for topic, change in changes.items()]
        if not arguments.dry_run:  # what one topic refuses is said before any is switched
            switched = [Switched(it, change_current(store, group, it, change)) for it, change in changes.items()]
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


def _change(
    store: ObjectStore, topic: str, arguments: argparse.Namespace, notes: Sequence[ReplayNote]
) -> Callable[[Current], Current]:
    """Return what becomes of the document of a topic; the change raises CommandError where something has gone."""
    generation = arguments.to_generation
    note = next((one for one in notes if one.generation == generation), None)
    members_topic = None if note is not None else _topic_of_members(store, topic, generation, notes)

    def change(current: Current) -> Current:
        if note is not None:
            switched = current.switched(note.generation, note.bounds)
            return switched.without_old() if arguments.delete_old else switched
        current = current.about(members_topic)
        _check_deleted(topic, generation, current)
        return current.switched_back()

    return change


def _topic_of_members(store: ObjectStore, topic: str, generation: int, notes: Sequence[ReplayNote]) -> str | None:
    """Return the id of the topic of which a generation is.

    Raises CommandError where it has nothing: a mistyped number must not switch back.
    """
    for name, listed in store.inventory(topic):
        if name.generation == generation:
            facts = store.facts(listed.key)
            if facts is not None:
                return facts.topic_id
    replays = ", ".join(str(one.generation) for one in notes)
    raise CommandError(
        f"--to-generation {generation}: topic {printable(topic)} has no object of it; replays: {replays}", Exit.INVALID
    )


def _check_deleted(topic: str, generation: int, current: Current) -> None:
    for partition, spans in sorted(current.deleted.items()):
        gone = ", ".join(f"[{start}, {end})" for start, end in spans)
        raise CommandError(
            f"--to-generation {generation}: --delete-old has deleted what members had stored of partition {partition} "
            f"of topic {printable(topic)} in {gone}, so nothing would count there; make these offsets again with "
            "logpersister replay in a higher generation, and switch to that",
            Exit.FAILED,
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
