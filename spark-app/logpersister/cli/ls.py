"""``logpersister ls``: what is stored. Streams over the bucket's listing: memory does not depend on its length."""

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import chain
from typing import IO, Any, Final, TextIO, TypeVar

from logpersister.cli import bucket, context
from logpersister.cli.exits import CommandError, Exit
from logpersister.cli.progress import counted
from logpersister.cli.stored import Entry, Folder, Totals, entries, folders, with_facts
from logpersister.cli.tables import printable, table
from logpersister.manifest import LogPersister
from logpersister.report import plain
from logpersister.report.human import instant, number, plural, size
from logpersister.storage.current import get_current
from logpersister.storage.deletions import Deletion, list_deletions
from logpersister.storage.store import ObjectStore

Document = dict[str, Any]
Line = TypeVar("Line", Entry, Folder)

MOST_IN_MEMORY = 4 << 20
"""Bytes of a JSON document; a longer one waits in a temporary file until it is whole."""


def run(arguments: argparse.Namespace) -> int:
    """List folders or objects, and the totals of what was listed."""
    resource, secrets = context.begin(arguments, arguments.topic)
    with bucket.opened(resource, secrets) as store:
        listing = Listing(resource, store, arguments)
        if arguments.json:
            # Whole or not at all: half a document is of no use to who reads it.
            with tempfile.SpooledTemporaryFile(MOST_IN_MEMORY, "w+", encoding="utf-8") as written:
                listing.write_json(written)
                written.seek(0)
                shutil.copyfileobj(written, sys.stdout)
        else:
            listing.write_table(sys.stdout)
    return Exit.OK


class Listing:
    """One walk over the bucket."""

    def __init__(self, resource: LogPersister, store: ObjectStore, arguments: argparse.Namespace) -> None:
        self._resource = resource
        self._store = store
        self._objects: bool = arguments.objects
        self._facts: bool = arguments.facts
        self._limit: int = arguments.limit
        self._topic: str | None = arguments.topic
        self._only_current: bool = arguments.current
        self._deletions: dict[str, list[Deletion]] = {}
        """Deletions by topic, of topics that were listed by what counts."""
        self._generation: int | None = arguments.generation
        self._totals = Totals()
        self._truncated = False

    def write_table(self, out: TextIO) -> None:
        columns: Sequence[str]
        if self._objects:
            columns, rows = OBJECT_COLUMNS, map(_object_row, self._limited(self._entries()))
        else:
            columns, rows = FOLDER_COLUMNS, map(_folder_row, self._limited(folders(self._entries())))
        wanted = [index for index, column in enumerate(columns) if self._facts or column not in FACTS_COLUMNS]
        table([columns[index] for index in wanted], ([row[index] for index in wanted] for row in rows), out)
        totals = self._totals
        records = f", {plural(totals.records, 'record')}" if self._facts else ""
        out.write(f"\n{plural(totals.objects, 'object')}, {size(totals.bytes)}{records}\n")
        out.writelines(
            f"deleted on purpose: {plural(offsets, 'offset')} of {printable(topic)}, at {instant(at)}\n"
            for topic, offsets, at in self._deleted()
        )
        if totals.foreign:
            out.write(f"left out: {plural(totals.foreign, 'object')} of other groups or programs\n")
        if self._truncated:
            out.write(f"only the first {plural(self._limit, 'line')}; there is more (--limit)\n")

    def write_json(self, out: IO[str]) -> None:
        """Write one document, piece by piece."""
        storage = self._resource.spec.storage
        out.write(
            f'{{"group": {json.dumps(self._resource.group_id)}, "bucket": {json.dumps(storage.bucket)}, '
            f'"prefix": {json.dumps(storage.prefix)}, "{"objects" if self._objects else "folders"}": ['
        )
        documents: Iterable[Document]
        if self._objects:
            documents = map(_object_document, self._limited(self._entries()))
        else:
            without = [] if self._facts else ["records"]
            documents = (plain.document(folder, *without) for folder in self._limited(folders(self._entries())))
        out.writelines((",\n " if index else "\n ") + json.dumps(document) for index, document in enumerate(documents))
        totals: Document = {"objects": self._totals.objects, "bytes": self._totals.bytes}
        if self._facts:
            totals |= {"records": self._totals.records, "foreignObjects": self._totals.foreign}
        deleted = [{"topic": topic, "offsets": count, "at": plain.rfc3339(at)} for topic, count, at in self._deleted()]
        further = f', "deleted": {json.dumps(deleted)}' if self._only_current else ""
        out.write(f'],\n "totals": {json.dumps(totals)}, "truncated": {json.dumps(self._truncated)}{further}}}\n')

    def _entries(self) -> Iterator[Entry]:
        found = entries(self._store, self._resource.spec.kafka, self._topic)
        if self._only_current:
            only = None if self._topic is None else [self._topic]
            found = chain.from_iterable(map(self._counting, bucket.topics_of(self._store, self._resource, only)))
        if self._generation is not None:
            found = (entry for entry in found if entry.name.generation == self._generation)
        if self._facts:
            found = with_facts(self._store, found, self._resource.group_id, self._totals)
        return counted(found, "objects listed")

    def _counting(self, topic: str) -> Iterator[Entry]:
        """Yield what counts of a topic by its document, and no deletion has left; raise where the document changes."""
        current = get_current(self._store, self._resource.group_id, topic)
        deletions = list(list_deletions(self._store, self._resource.group_id, topic))
        self._deletions[topic] = deletions
        for entry in entries(self._store, self._resource.spec.kafka, topic):
            if current.counts(entry.name) and not any(one.has_object(entry.name) for one in deletions):
                yield entry
        if get_current(self._store, self._resource.group_id, topic) != current:
            raise CommandError(
                f"topic {printable(topic)}: a replay or a switch has changed what counts while it was listed; repeat "
                "this",
                Exit.FAILED,
            )

    def _deleted(self) -> Iterator[tuple[str, int, datetime]]:
        for topic, found in sorted(self._deletions.items()):
            if found:
                yield topic, sum(one.offsets for one in found), max(one.at for one in found)

    def _limited(self, lines: Iterator[Line]) -> Iterator[Line]:
        for index, line in enumerate(lines):
            if self._limit and index >= self._limit:
                self._truncated = True
                return
            self._totals.add(line)
            yield line


FACTS_COLUMNS: Final = (">RECORDS", "REVISION")
FOLDER_COLUMNS: Final = ("TOPIC", "PATH", ">GEN", ">OBJECTS", ">BYTES", ">RECORDS", ">FROM", ">LAST FROM")
OBJECT_COLUMNS: Final = ("STORED", ">BYTES", *FACTS_COLUMNS, "OBJECT")


def _folder_row(folder: Folder) -> list[str]:
    place = [folder.topic, folder.path or "-", str(folder.generation)]
    counts = number(folder.objects), size(folder.bytes), number(folder.records)
    return [*place, *counts, number(folder.first_start), number(folder.last_start)]


def _object_row(entry: Entry) -> list[str]:
    facts, listed = entry.facts, entry.listed
    said = [number(facts.records), facts.revision] if facts else ["?", "?"]
    return [f"{listed.last_modified:%Y-%m-%d %H:%M}", size(listed.size), *said, listed.key]


def _object_document(entry: Entry) -> Document:
    name, listed, facts = entry.name, entry.listed, entry.facts
    document: Document = {
        "key": listed.key,
        **plain.document(name, "extension"),
        "bytes": listed.size,
        "lastModified": plain.rfc3339(listed.last_modified),
    }
    if facts is None:
        return document
    return {
        **document,
        "end": facts.range.end,
        "first": facts.first,
        "last": facts.last,
        "records": facts.records,
        "tombstones": facts.tombstones,
        "revision": facts.revision,
        "checksum": facts.checksum,
    }
