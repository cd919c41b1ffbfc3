"""The records in quarantine, read back from their objects, and what a parser says of them now."""

import base64
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

import pyarrow as pa

from logpersister.cli.records import Preview, preview
from logpersister.cli.shown_record import ShownRecord
from logpersister.cli.stored import Entry
from logpersister.ranges import Offset
from logpersister.records.parsers import Parser
from logpersister.storage.facts import LEFT_OUT, VALUES
from logpersister.storage.store import ObjectStore
from logpersister.verify.streams import ContentError

ACCEPTED: Final = "accepted"
"""The reason of records that the parser of the manifest does not refuse."""
NO_VALUES: Final = "values_left_out"
"""That of records of which the quarantine has no values, so that nothing can be judged; their file has the reason."""
AT_ONCE: Final = 1_000
"""Records that are judged together."""


@dataclass(frozen=True, slots=True)
class RefusedRecord:
    """A record in quarantine."""

    entry: Entry
    offset: Offset | None
    """None where the format does not keep it: then it is one of the object's range."""
    value: bytes
    reason: str
    """Why the parser of the manifest refuses it now, or `ACCEPTED`, or `NO_VALUES`."""
    field: str | None

    @property
    def where(self) -> str:
        """``0:4711``, partition and offset; ``0:4000+`` when only the first offset of its range is known."""
        name = self.entry.name
        return f"{name.partition}:{f'{name.start}+' if self.offset is None else self.offset}"


@dataclass(frozen=True, slots=True)
class Unreadable:
    """An object in quarantine that cannot be read to its end."""

    entry: Entry
    why: str


def refused_records(
    store: ObjectStore, found: Iterable[Entry], parser_of: Callable[[str], Parser | None]
) -> Iterator[RefusedRecord | Unreadable]:
    """Yield the records of all objects, in their order; objects that have gone meanwhile are left out."""
    for entry in found:
        peeked = store.peek(entry.listed.key)
        if peeked is None:
            continue
        try:
            begun = preview(store, entry.listed.key, peeked)
            while some := list(islice(begun.records, AT_ONCE)):
                if peeked.metadata.get(VALUES) == LEFT_OUT:
                    yield from (RefusedRecord(entry, one.offset, b"", NO_VALUES, None) for one in some)
                else:
                    yield from _judged(entry, begun, some, parser_of(entry.name.topic))
        except ContentError as error:
            yield Unreadable(entry, str(error))


def _judged(
    entry: Entry, begun: Preview, some: Sequence[ShownRecord], parser: Parser | None
) -> Iterator[RefusedRecord]:
    values = [_value(one.value) if begun.format == "jsonl" else one.value for one in some]
    batch = pa.RecordBatch.from_pydict({"value": pa.array(values, pa.binary())})
    refused = None if parser is None else parser.parse(batch).refused
    why: dict[int, tuple[str, str | None]] = {}
    if refused is not None:
        reasons = zip(refused.reasons.to_pylist(), refused.fields.to_pylist(), strict=True)
        why = {int(row): (reason or "", field) for row, (reason, field) in zip(refused.rows, reasons, strict=True)}
    for row, (one, value) in enumerate(zip(some, values, strict=True)):
        yield RefusedRecord(entry, one.offset, value, *why.get(row, (ACCEPTED, None)))


def _value(line: bytes) -> bytes:
    """Return the value that a line of format ``jsonl`` has."""
    try:
        document = json.loads(line)
        if "value_base64" in document:
            return base64.b64decode(document["value_base64"])
        text: str = document["value"]
        return text.encode()
    except (ValueError, LookupError, TypeError, AttributeError):
        raise ContentError("a line in it has no value") from None
