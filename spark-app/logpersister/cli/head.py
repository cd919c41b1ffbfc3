"""``logpersister head``: the first records of one object, whatever its format."""

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any, Final, TextIO

from logpersister.cli import bucket, context
from logpersister.cli.exits import CommandError, Exit
from logpersister.cli.records import INSIDE, Preview, preview
from logpersister.cli.rows import ShownRecord, bytes_document, text_of
from logpersister.cli.tables import printable
from logpersister.formats.damage import ContentError
from logpersister.manifest import LogPersister
from logpersister.ranges import Offset
from logpersister.report import logs
from logpersister.report.human import instant, size
from logpersister.storage.connection import Timeouts
from logpersister.storage.facts import ForeignObjectError, ObjectFacts
from logpersister.storage.names import ObjectName
from logpersister.storage.peek import Peeked
from logpersister.storage.store import ListedObject, ObjectStore

Document = dict[str, Any]

SCHEME: Final = "s3://"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Located:
    """An object, and what it says of itself."""

    key: str
    facts: ObjectFacts | None = None
    """Known when it was asked for an offset."""
    others: tuple[str, ...] = ()
    """Objects of the same range in other folders, any of which may have the offset."""


def locate(store: ObjectStore, topic: str, partition: int | None, offset: Offset | None) -> Located:
    """Return the object of the topic that has the offset, or is the first one. Raises CommandError, StorageError.

    Where several generations have it, the highest one is meant.
    """
    if partition is None:
        first = next(_names(store, topic, lambda _: True), None)
        if first is None:
            raise _nothing(store, f"no object of topic {topic}")
        return Located(first[1].key)
    mine = _names(store, topic, lambda name: name.partition == partition)
    if offset is None:
        found = min(mine, key=lambda one: (-one[0].generation, one[0].start, one[1].key), default=None)
        if found is None:
            raise _nothing(store, f"no object of {topic}-{partition}")
        return Located(found[1].key)
    located = _with_offset(store, mine, offset)
    if located is None:
        raise _nothing(store, f"no object of {topic}-{partition} with offset {offset}")
    return located


def _names(
    store: ObjectStore, topic: str, wanted: Callable[[ObjectName], bool]
) -> Iterator[tuple[ObjectName, ListedObject]]:
    return ((name, listed) for name, listed in store.inventory(topic) if wanted(name))


def _with_offset(
    store: ObjectStore, named: Iterator[tuple[ObjectName, ListedObject]], offset: Offset
) -> Located | None:
    """Return the object whose facts cover the offset. In each generation only the last start before it can."""
    nearest: dict[int, tuple[Offset, list[str]]] = {}
    for name, listed in named:
        start, keys = nearest.get(name.generation, (-1, []))
        if start <= name.start <= offset:
            nearest[name.generation] = (name.start, [*(keys if name.start == start else []), listed.key])
    for _, (_, keys) in sorted(nearest.items(), reverse=True):
        covering = [
            (key, facts) for key in keys if (facts := _facts(store, key)) and facts.first <= offset <= facts.last
        ]
        if covering:
            (key, facts), *others = covering
            return Located(key, facts, tuple(other for other, _ in others))
    return None


def _facts(store: ObjectStore, key: str) -> ObjectFacts | None:
    try:
        return store.facts(key)
    except ForeignObjectError:
        return None


def _nothing(store: ObjectStore, what: str) -> CommandError:
    return CommandError(f"{store.storage.address}: {what}; logpersister ls --objects lists what is stored", Exit.FAILED)


def run(arguments: argparse.Namespace) -> int:
    """Show the records; what they are of is said on standard error."""
    logs.configure(level="error")
    key = object_key(arguments)
    secrets = context.secrets(arguments)
    resource = context.manifest(arguments.file) if arguments.file is not None else _bucket_alone(arguments)
    if key is not None:
        resource = _in_bucket(resource, arguments.what.removeprefix(SCHEME).partition("/")[0])
    timeouts = Timeouts(connect=arguments.timeout, read=arguments.timeout, attempts=2)
    with bucket.opened(resource, secrets, timeouts) as store:
        found = (
            Located(key) if key is not None else locate(store, arguments.what, arguments.partition, arguments.offset)
        )
        peeked = store.peek(found.key)
        if peeked is None:
            raise CommandError(
                f"{SCHEME}{store.storage.bucket}/{found.key}: there is no such object; logpersister ls --objects lists "
                "what is stored",
                Exit.FAILED,
            )
        shown = Shown(store.storage.bucket, found, peeked, preview(store, found.key, peeked))
        try:
            shown.write(arguments, sys.stdout)
        except ContentError as error:
            sys.stdout.flush()
            raise CommandError(f"{shown.address}: cannot be read: {error}", Exit.FAILED) from None
    return Exit.OK


def object_key(arguments: argparse.Namespace) -> str | None:
    """Return the key of ``s3://bucket/key``, None when a topic is named. Raises CommandError for contradictions."""
    what, is_address = arguments.what, arguments.what.startswith(SCHEME)
    if not is_address:
        if arguments.file is None:
            raise CommandError(f"{what}: is no s3://bucket/key; for a topic, name the manifest with -f", Exit.INVALID)
        key = None
    else:
        if arguments.partition is not None:
            raise CommandError("PARTITION and OFFSET are of a topic; leave them out with an object", Exit.INVALID)
        key = what.removeprefix(SCHEME).partition("/")[2]
        if not key or key.endswith("/"):
            raise CommandError(f"{what}: names no object; write s3://bucket/key", Exit.INVALID)
    if arguments.file is not None and any(
        (arguments.endpoint, arguments.region, arguments.s3_secret, arguments.s3_ca_secret)
    ):
        raise CommandError(
            "--endpoint, --region, --s3-secret and --s3-ca-secret are for use without a manifest", Exit.INVALID
        )
    return key


def _in_bucket(resource: LogPersister, name: str) -> LogPersister:
    storage = resource.spec.storage.model_copy(update={"bucket": name})
    return resource.model_copy(update={"spec": resource.spec.model_copy(update={"storage": storage})})


def _bucket_alone(arguments: argparse.Namespace) -> LogPersister:
    """Return a manifest whose bucket is that of the address."""
    storage = bucket.described_by(arguments, arguments.what.removeprefix(SCHEME).partition("/")[0])
    return context.resource("head", {"bootstrapServers": "none:1", "topicPattern": "."}, storage)


class Shown:
    """An object, and what is shown of it."""

    def __init__(self, bucket_name: str, located: Located, peeked: Peeked, begin: Preview) -> None:
        self.address = f"{SCHEME}{bucket_name}/{located.key}"
        self._bucket = bucket_name
        self._located = located
        self._peeked = peeked
        self._preview = begin
        self._notes = [begin.note] if begin.note else []

    def write(self, arguments: argparse.Namespace, out: TextIO) -> None:
        """Write records to `out`, and notes to standard error. Raises ContentError."""
        records = islice(self._from(arguments.offset), arguments.records)
        self._notes += [f"the range is also in {SCHEME}{self._bucket}/{key}" for key in self._located.others]
        if arguments.json:
            document = self._document([_record_document(record) for record in records])
            out.write(json.dumps(document) + "\n")
            return
        compression = "" if self._preview.compression == INSIDE else f", {self._preview.compression}"
        facts = f"{self._preview.format}{compression}, {size(self._peeked.size)}"
        print(f"{printable(self.address)}: {facts}", file=sys.stderr)
        for note in self._notes:
            print(printable(note), file=sys.stderr)
        out.writelines(line(record) + "\n" for record in records)

    def _from(self, offset: int | None) -> Iterator[ShownRecord]:
        records, facts = self._preview.records, self._located.facts
        if offset is None or facts is None:
            return records
        if self._preview.keeps_offsets:
            return (record for record in records if record.offset is not None and record.offset >= offset)
        if facts.records == facts.last - facts.first + 1:
            return islice(records, offset - facts.first, None)
        what = "its rows" if self._preview.format in ("parquet", "orc") else "lines"
        self._notes.append(
            f"{what} have no offsets, and {facts.first} to {facts.last} are not all in this object: shown from its "
            "first record"
        )
        return records

    def _document(self, records: Sequence[Document]) -> Document:
        """Return the JSON document; docs/commands.md describes it."""
        return {
            "bucket": self._bucket,
            "key": self._located.key,
            "bytes": self._peeked.size,
            "format": self._preview.format,
            "compression": None if self._preview.compression == INSIDE else self._preview.compression,
            "notes": self._notes,
            "records": records,
        }


def line(record: ShownRecord) -> str:
    """Return a record as one line, of which a terminal obeys nothing: the value, and before it what else is kept."""
    if record.offset is None:
        return text_of(record.value)
    fields = [str(record.offset)]
    if record.timestamp is not None:
        fields += [_time(record.timestamp), "" if record.key is None else text_of(record.key)]
    return "\t".join([*fields, text_of(record.value)])


def _time(milliseconds: int) -> str:
    try:
        return instant(_EPOCH + timedelta(milliseconds=milliseconds), "milliseconds")
    except OverflowError:  # producers may write any number
        return str(milliseconds)


def _record_document(record: ShownRecord) -> Document:
    return {
        "offset": record.offset,
        "timestamp": record.timestamp,
        **bytes_document("key", record.key),
        **bytes_document("value", None if record.is_tombstone else record.value),
    }
