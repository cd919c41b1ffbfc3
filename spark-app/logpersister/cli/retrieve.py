"""``logpersister retrieve``: fetches what is stored into a directory."""

import argparse
import fcntl
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TextIO

from logpersister.backup.listing import read_backup
from logpersister.cli import bucket, context
from logpersister.cli.exits import CommandError, Exit
from logpersister.cli.tables import printable, table
from logpersister.finish.watermark import at
from logpersister.formats.damage import ContentError
from logpersister.manifest import LogPersister
from logpersister.manifest.blocks.finish import ARCHIVE
from logpersister.records.type_folders import folders_by_time
from logpersister.replay.moments import BackupMoments
from logpersister.report.human import number, plural, size
from logpersister.retrieve.archives import in_folders, with_archives
from logpersister.retrieve.fetching import Fetched, Fetcher, Outcome
from logpersister.retrieve.selection import SamePlaceError, Selected, Window, all_of, chosen, places, within
from logpersister.storage.current import Current, look_by_current
from logpersister.storage.facts import ForeignObjectError
from logpersister.storage.store import ObjectStore

Document = dict[str, Any]

TERMINAL_SECONDS: Final = 0.5
LINES_SECONDS: Final = 10.0
COUNTS: Final = ("objects", "bytes", "fetched", "had", "foreignObjects", "gone", "failed", "sizeOnly")
"""Names of what is counted, from `fetched` to `failed` as in `Outcome`."""
COLUMNS: Final = ("TOPIC", "FROM", "TO", ">OBJECTS", ">BYTES", ">FETCHED", ">HAD")


@dataclass(slots=True)
class Result:
    """What became of the objects of a topic."""

    selected: Selected
    outcomes: Counter[Outcome] = field(default_factory=Counter)
    unsummed: int = 0
    """Objects of which only the size could be compared."""

    @property
    def bytes(self) -> int:
        return sum(one.size for one in self.selected.objects)

    def add(self, one: Fetched) -> None:
        self.outcomes[one.outcome] += 1
        self.unsummed += not one.is_summed


def run(arguments: argparse.Namespace) -> int:
    """Select, then fetch; what could not be fetched is said, and does not hinder the rest."""
    window = Window(arguments.since, arguments.until)
    if arguments.unpack and (arguments.collapse_topics or arguments.collapse_time):
        raise CommandError("--unpack: puts files where --collapse-topics and --collapse-time have none", Exit.INVALID)
    if window.since is not None and window.until is not None and window.since >= window.until:
        raise CommandError("--from: is not before --to", Exit.INVALID)
    resource, secrets = context.begin(arguments)
    failures: list[Fetched] = []
    with bucket.numbered(resource, secrets, arguments.store) as store:
        topics = bucket.topics_of(store, resource, arguments.topics)
        found = {topic: _chosen(store, resource, topic, arguments) for topic in topics}
        results = {topic: Result(one) for topic, one in found.items()}
        files = _files(store, found.values(), arguments)
        if not arguments.dry_run:
            failures = _fetch(Fetcher(store, resource.group_id, unpacks=arguments.unpack), files, results, arguments)
    told = document(resource, [*results.values()], failures, arguments)
    if arguments.json:
        print(json.dumps(told))
    else:
        show(told, sys.stdout)
    for one in failures:
        print(printable(one.problem), file=sys.stderr)
    return Exit.FAILED if failures else Exit.OK


def _chosen(store: ObjectStore, resource: LogPersister, topic: str, arguments: argparse.Namespace) -> Selected:
    window, spec = Window(arguments.since, arguments.until), resource.spec.for_topic(topic)
    layout = folders_by_time(spec)
    if arguments.store:  # copies have archives only
        selected = Selected(topic, ())
    else:
        selected = look_by_current(
            store, resource.group_id, topic, lambda current: _counting(store, resource, topic, current, window)
        )
    if layout is not None and spec.finish is not None and ARCHIVE in spec.finish.policy:
        selected = with_archives(store, resource.group_id, selected, layout, window)
    return in_folders(selected, arguments.folders) if arguments.folders else selected


def _counting(store: ObjectStore, resource: LogPersister, topic: str, current: Current, window: Window) -> Selected:
    spec = resource.spec.for_topic(topic)
    layout = folders_by_time(spec)
    if window.is_all:
        return all_of(store, topic, current, layout)
    if layout is not None:
        return within(store, topic, current, layout, window)
    if spec.output.format == "kafka":
        return _of_backup(store, resource.group_id, topic, current, window)
    raise without_times(topic)


def without_times(topic: str) -> CommandError:
    """Return the error about a topic of which a window of time selects nothing."""
    return CommandError(
        f"topic {printable(topic)}: has no folders by time (output.partitionBy), so --from and --to select nothing of "
        "it; leave them out, or name other topics with --topics",
        Exit.INVALID,
    )


def _of_backup(store: ObjectStore, group: str, topic: str, current: Current, window: Window) -> Selected:
    """Choose by the first record of each object: of a backup it can be read."""
    moments, keys = BackupMoments(store), set[str]()
    try:
        for one in read_backup(store, group, topic).partitions.values():
            start = one.start if window.since is None else moments.before(one, window.since)
            end = one.end if window.until is None else moments.behind(one, window.until)
            keys |= {piece.object.key for piece in one.within(start, end)[0]}
    except (ForeignObjectError, ContentError) as error:
        raise CommandError(f"topic {printable(topic)}: {error}", Exit.FAILED) from error
    return chosen(store, topic, current, keys)


def _files(store: ObjectStore, found: Iterable[Selected], arguments: argparse.Namespace) -> dict[str, Path]:
    every = [one for selected in found for one in selected.objects]
    collapse = {"collapse_topics": arguments.collapse_topics, "collapse_time": arguments.collapse_time}
    try:
        return {key: Path(arguments.target) / place for key, place in places(store.prefix, every, **collapse).items()}
    except SamePlaceError as error:
        raise CommandError(f"--collapse-topics, --collapse-time: {error}", Exit.FAILED) from error


def _fetch(
    fetcher: Fetcher, files: Mapping[str, Path], results: Mapping[str, Result], arguments: argparse.Namespace
) -> list[Fetched]:
    topics = {one.key: topic for topic, result in results.items() for one in result.selected.objects}
    progress = _Progress(fetcher, len(files), sum(result.bytes for result in results.values()), sys.stderr)
    failures = []
    try:
        with (
            _alone(Path(arguments.target)),
            closing(fetcher.fetch_each(files, arguments.parallel, progress.show)) as all_,
        ):
            for one in all_:
                progress.add(one)
                results[topics[one.key]].add(one)
                if one.outcome is Outcome.FAILED:
                    failures.append(one)
    except OSError as error:
        raise CommandError(f"--target {arguments.target}: {error}", Exit.FAILED) from error
    finally:
        progress.close()
    return sorted(failures, key=lambda one: one.key)


@contextmanager
def _alone(target: Path) -> Iterator[None]:
    """Hold the directory: two commands would write the same files."""
    target.mkdir(parents=True, exist_ok=True)
    held = os.open(target, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CommandError(f"--target {target}: another command fetches into it", Exit.FAILED) from None
        yield
    finally:
        os.close(held)


class _Progress:
    """How much has come: a line that changes on a terminal, elsewhere one now and then."""

    def __init__(self, fetcher: Fetcher, objects: int, bytes_: int, out: TextIO) -> None:
        self._fetcher, self._objects, self._bytes, self._out = fetcher, objects, bytes_, out
        self._terminal = out.isatty()
        self._done = self._had = 0
        self._shown = time.monotonic()

    def add(self, one: Fetched) -> None:
        self._done += 1
        self._had += one.bytes if one.outcome is Outcome.HAD else 0

    def show(self) -> None:
        if time.monotonic() - self._shown < (TERMINAL_SECONDS if self._terminal else LINES_SECONDS):
            return
        self._shown = time.monotonic()
        line = f"{self._done:,} of {plural(self._objects, 'object')}, {size(self._fetcher.received)} fetched"
        line += f", {size(self._had)} there already" if self._had else ""
        line += f", of {size(self._bytes)}"
        self._out.write(f"\r\033[K{line}" if self._terminal else f"{line}\n")
        self._out.flush()

    def close(self) -> None:
        if self._terminal:
            self._out.write("\r\033[K")
            self._out.flush()


def document(
    resource: LogPersister, results: Sequence[Result], failures: Sequence[Fetched], arguments: argparse.Namespace
) -> Document:
    """Return the JSON document; docs/commands.md describes it."""
    topics = [_topic(one) for one in results]
    return {
        "group": resource.group_id,
        "target": arguments.target,
        "dryRun": arguments.dry_run,
        "topics": topics,
        "totals": {name: sum(one[name] for one in topics) for name in COUNTS},
        "errors": [{"object": one.key, "message": one.problem} for one in failures],
    }


def _topic(one: Result) -> Document:
    selected, outcomes = one.selected, one.outcomes
    begin, end = (None if time_ is None else at(time_) for time_ in (selected.begin, selected.end))
    counts = (len(selected.objects), one.bytes, *map(outcomes.__getitem__, Outcome), one.unsummed)
    return {"topic": selected.topic, "from": begin, "to": end, **dict(zip(COUNTS, counts, strict=True))}


def show(told: Document, out: TextIO) -> None:
    """Write a line for each topic, and what was done."""
    totals, dry_run = told["totals"], told["dryRun"]
    rows = [
        [
            printable(one["topic"]),
            *(one[name] or "-" for name in ("from", "to")),
            number(one["objects"]),
            size(one["bytes"]),
            *([] if dry_run else [number(one["fetched"]), number(one["had"])]),
        ]
        for one in told["topics"]
    ]
    table(COLUMNS[:-2] if dry_run else COLUMNS, rows, out)
    if dry_run:
        out.write(f"\n{plural(totals['objects'], 'object')} would be in {told['target']}; nothing was fetched\n")
        return
    whole = plural(totals["fetched"] + totals["had"], "object")
    out.write(f"\n{whole} in {told['target']}, {number(totals['had'])} of them before\n")
    for name, what in (
        ("foreignObjects", "of other groups or programs left out"),
        ("gone", "deleted meanwhile"),
        ("failed", "not fetched"),
        ("sizeOnly", "without a known checksum: only sizes were compared"),
    ):
        if totals[name]:
            out.write(f"{plural(totals[name], 'object')} {what}\n")
