"""``logpersister delete``: deletes what is stored of a window of time, and notes that it was deleted on purpose."""

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final, TextIO

from logpersister.cli import bucket, context
from logpersister.cli.deleted_ranges import Chosen, choose, choose_archives, inside_backup, inside_folders
from logpersister.cli.exits import CommandError, Exit
from logpersister.cli.progress import counted
from logpersister.cli.retrieve import without_times
from logpersister.cli.tables import printable, table
from logpersister.formats.damage import ContentError
from logpersister.manifest import LogPersister
from logpersister.manifest.blocks.finish import ARCHIVE
from logpersister.records.type_folders import AnyFolders, folders_by_time
from logpersister.report.human import number, plural, size
from logpersister.retrieve.selection import Window
from logpersister.storage.copies import Copy, open_copies
from logpersister.storage.deletions import Deletion, note_deletion
from logpersister.storage.facts import ForeignObjectError
from logpersister.storage.replayed import list_replayed
from logpersister.storage.store import ObjectStore

COLUMNS: Final = ("TOPIC", ">RANGES", ">OBJECTS", ">BYTES", ">KEPT")
_KEPT: Final = (
    ("partly", "records outside of the window, too"),
    ("quarantined", "refused records, whose time is not known: logpersister quarantine replay"),
    ("newest", "the newest of a partition says how far it is stored"),
)


def run(arguments: argparse.Namespace) -> int:
    """Show what would be deleted, ask, then delete it; what one topic refuses is said before any object goes."""
    window = Window(arguments.since, arguments.until)
    if window.since is not None and window.since >= arguments.until:
        raise CommandError("--from: is not before --to", Exit.INVALID)
    resource, secrets = context.begin(arguments)
    _refuse(resource)
    with bucket.opened(resource, secrets) as store, open_copies(resource.spec.storage, secrets) as copies:
        topics = bucket.topics_of(store, resource, arguments.topics)
        found = [_chosen(store, copies, resource, topic, window) for topic in topics]
        show(found, sys.stdout)
        told = _told(found)
        if arguments.dry_run or not any(one.objects or one.sizes_of_archives for one in found):
            return Exit.OK
        if not arguments.yes and not _agreed(told, resource):
            print("nothing was deleted", file=sys.stderr)
            return Exit.FAILED
        for one in found:
            _delete(store, resource.group_id, one, window, datetime.now(UTC))
    print(f"{told} deleted")
    _tell_further(resource, sys.stdout)
    return Exit.OK


def _refuse(resource: LogPersister) -> None:
    if any(one.table is not None for one in resource.spec.variants()):
        raise CommandError(
            "spec.table: the table has the objects as its files, so an engine deletes their rows (DELETE FROM …, then "
            "expire_snapshots); see docs/tables.md",
            Exit.INVALID,
        )


def _chosen(store: ObjectStore, copies: Sequence[Copy], resource: LogPersister, topic: str, window: Window) -> Chosen:
    spec, group = resource.spec.for_topic(topic), resource.group_id
    for replay in list_replayed(store, group, topic):
        if not replay.done:
            raise CommandError(
                f"topic {printable(topic)}: the replay into generation {replay.generation} is not finished; repeat "
                "logpersister replay until it is",
                Exit.FAILED,
            )
    layout = folders_by_time(spec)
    try:
        if layout is not None:
            inside = inside_folders(layout, window)
        elif spec.output.format == "kafka":
            inside = inside_backup(store, group, topic, window)
        else:
            raise without_times(topic)
    except (ForeignObjectError, ContentError) as error:
        raise CommandError(f"topic {printable(topic)}: {error}", Exit.FAILED) from error
    chosen = choose(store, group, topic, counted(store.inventory(topic), "objects looked at"), inside)
    if layout is not None and spec.finish is not None and ARCHIVE in spec.finish.policy:
        chosen.archives = choose_archives(store, group, chosen, layout, window)
        chosen.copied = [(copy, _archives_of(copy, group, chosen, layout, window)) for copy in copies]
    return chosen


def _archives_of(copy: Copy, group: str, chosen: Chosen, layout: AnyFolders, window: Window) -> Mapping[str, int]:
    with bucket.using(copy) as store:
        return choose_archives(store, group, chosen, layout, window)


def _agreed(told: str, resource: LogPersister) -> bool:
    if not sys.stdin.isatty():
        raise CommandError("--yes: is needed where nobody can be asked; nothing was deleted", Exit.INVALID)
    storage = resource.spec.storage
    place = f"s3://{storage.bucket}/{storage.prefix}"
    if storage.copies:
        place += " and its copies"
    print(f"Delete {told} of {place} for good? [y/N] ", end="", flush=True)
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def _delete(store: ObjectStore, group: str, chosen: Chosen, window: Window, now: datetime) -> None:
    """Note the ranges of a topic, then delete their objects. Whatever ends this, the same command goes on."""
    assert window.until is not None, "--to is required"
    for topic_id, ranges in chosen.by_topic_id():
        note = Deletion(chosen.topic, topic_id, window.since, window.until, now, ranges)
        note_deletion(store, group, note)
    # Before the bucket's: where a copy is away now, the same command finds everything again.
    for copy, archives in chosen.copied:
        with bucket.using(copy) as of_copy:
            of_copy.delete_all([*archives])
    # First: an object that is left is found again, and its facts with it; without the object they are not.
    store.delete_all([key for one in chosen.ranges.values() for key in one.facts])
    store.delete_all([*chosen.archives, *chosen.objects])


def show(found: Sequence[Chosen], out: TextIO) -> None:
    """Write what would be deleted, and what stays though its time is in the window."""
    rows = [
        [one.topic, number(len(one.ranges)), number(len(one.objects)), size(one.bytes), number(one.kept)]
        for one in found
    ]
    table(COLUMNS, rows, out)
    out.write("\n")
    out.writelines(f"{line}\n" for line in _kept(found))
    bytes_ = sum(one.bytes + sum(one.sizes_of_archives) for one in found)
    out.write(f"{_told(found)}, {size(bytes_)} to be deleted\n")


def _told(found: Sequence[Chosen]) -> str:
    objects, archives = sum(len(one.objects) for one in found), sum(len(one.sizes_of_archives) for one in found)
    return plural(objects, "object") + (f" and {plural(archives, 'archive')}" if archives else "")


def _kept(found: Sequence[Chosen]) -> Iterator[str]:
    for name, why in _KEPT:
        count = sum(getattr(one, name) for one in found)
        if count:
            yield f"kept: {plural(count, 'range')} ({why})"
    archives = sum(one.archives_kept for one in found)
    if archives:
        yield f"kept: {plural(archives, 'archive')}, with all records (objects of their folders stay)"
    foreign = sum(one.foreign for one in found)
    if foreign:
        yield f"kept: {plural(foreign, 'object')} of other groups or programs"


def _tell_further(resource: LogPersister, out: TextIO) -> None:
    specs = list(resource.spec.variants())
    if any(one.finish is not None for one in specs):
        out.write("finished folders have changed: logpersister finish with the same --from and --to makes that known\n")
