"""The records in quarantine, read back from their objects, and what a parser says of them now."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

import pyarrow as pa

from logpersister.cli.records import Preview, preview
from logpersister.cli.rows import ShownRecord
from logpersister.cli.stored import Entry
from logpersister.compiled.topic import CompiledTopic
from logpersister.formats.damage import ContentError
from logpersister.formats.jsonl.read import document, kept_records
from logpersister.manifest.blocks.keep import field_conditions
from logpersister.manifest.spec import Spec
from logpersister.pipeline.splitting import sides
from logpersister.ranges import Offset
from logpersister.records.left_out import LEFT_OUT
from logpersister.records.schema import FIELD, HEADERS, REASON, RECORDS_WITH_HEADERS
from logpersister.records.topic_layout import WritersOf
from logpersister.registry import RegistryError
from logpersister.storage import facts
from logpersister.storage.store import ObjectStore

ACCEPTED: Final = "accepted"
"""The reason of records that the parser of the manifest does not refuse."""
NO_VALUES: Final = "values_left_out"
"""Reason of records whose values the quarantine does not have, so that nothing can be judged."""
NOT_KEPT: Final = LEFT_OUT
"""The reason of records that the manifest leaves out now, by conditions or by their type."""
AT_ONCE: Final = 1_000
"""Records that are judged together."""


Refusals = Mapping[int, tuple[str, str | None]]
"""Refused rows: the reason in one word, and the field."""
Judge = Callable[[pa.RecordBatch, bool], Refusals]
"""Returns what of a batch, whose offsets are the numbers of rows, is refused now, or left out. The second argument says
whether its headers are those of the records; else conditions on them are not judged."""


def judge_of(spec: Spec, writers_of: WritersOf, horizon: int | None = None) -> Judge:
    """Return what the manifest says of records: types, the parser that applies to each, conditions, what came late.

    `horizon`: up to when folders are finished.
    """
    horizon = horizon if spec.quarantines_late else None
    without_headers = spec.model_copy(update={"keep": field_conditions(spec.keep)})
    layout = CompiledTopic(spec, writers_of).layout_at(horizon)
    layouts = {True: layout, False: layout}
    if without_headers != spec:
        layouts[False] = CompiledTopic(without_headers, writers_of).layout_at(horizon)

    def judge(batch: pa.RecordBatch, has_headers: bool) -> Refusals:  # noqa: FBT001 - as `Judge` has it
        found: dict[int, tuple[str, str | None]] = dict.fromkeys(range(batch.num_rows), (NOT_KEPT, None))
        for side in sides(batch, layouts[has_headers]):
            rows: list[Any] = side.rows.column("offset").to_pylist()
            if side.refused is None:
                found |= dict.fromkeys(rows, (ACCEPTED, None))
            else:
                columns = (side.rows.column(name).to_pylist() for name in (REASON, FIELD))
                found |= {row: (reason or "", field) for row, reason, field in zip(rows, *columns, strict=True)}
        return found

    return judge


@dataclass(frozen=True, slots=True)
class RefusedRecord:
    """A record in quarantine."""

    entry: Entry
    offset: Offset | None
    """None where the format does not keep it: then it is one of the object's range."""
    value: bytes | None
    reason: str
    """Why the parser of the manifest refuses it now, or `ACCEPTED`, `NOT_KEPT` or `NO_VALUES`."""
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
    is_away: bool = False
    """Whether the registry of its topic did not answer."""


def refused_records(
    store: ObjectStore, group: str, found: Iterable[Entry], judging: Callable[[str], Judge]
) -> Iterator[RefusedRecord | Unreadable]:
    """Yield the records of all objects of a group, in their order; objects that have gone meanwhile are left out."""
    away: dict[str, str] = {}
    for entry in found:
        if entry.name.topic in away:
            yield Unreadable(entry, away[entry.name.topic], is_away=True)
            continue
        peeked = store.peek(entry.listed.key)
        if peeked is None:
            continue
        owner = peeked.metadata.get("group")
        if owner != group:
            who = "logpersister has not written it" if owner is None else f"group {owner} has written it"
            yield Unreadable(entry, who)
            continue
        try:
            begun = preview(store, entry.listed.key, peeked)
            while some := list(islice(begun.records, AT_ONCE)):
                if peeked.metadata.get(facts.VALUES) == facts.LEFT_OUT:
                    yield from (RefusedRecord(entry, one.offset, b"", NO_VALUES, None) for one in some)
                else:
                    yield from _judged(entry, begun, some, judging(entry.name.topic))
        except ContentError as error:
            yield Unreadable(entry, str(error))
        except RegistryError as error:
            away[entry.name.topic] = f"registry: {error}"
            yield Unreadable(entry, away[entry.name.topic], is_away=True)


def _judged(entry: Entry, begun: Preview, some: Sequence[ShownRecord], judge: Judge) -> Iterator[RefusedRecord]:
    is_json = begun.format == "jsonl"
    records = kept_records([document(one.value) for one in some]) if is_json else _records(some)
    values: list[bytes | None] = records.column("value").to_pylist()
    has_headers = "headers" in records.schema.names
    if not has_headers:
        records = records.append_column("headers", pa.array([[]] * len(some), HEADERS))
    numbered = records.set_column(0, records.schema.field(0), pa.array(range(len(some)), pa.int64()))
    why = judge(numbered, begun.keeps_headers or (is_json and has_headers))
    for row, (one, value) in enumerate(zip(some, values, strict=True)):
        yield RefusedRecord(entry, one.offset, value, *why[row])


def _records(some: Sequence[ShownRecord]) -> pa.RecordBatch:
    columns: dict[str, list[Any]] = {
        "offset": [-1 if one.offset is None else one.offset for one in some],
        "timestamp": [-1 if one.timestamp is None else one.timestamp for one in some],
        "key": [one.key for one in some],
        "value": [None if one.is_tombstone else one.value for one in some],
        "headers": [[{"key": key, "value": value} for key, value in one.headers] for one in some],
    }
    return pa.RecordBatch.from_pydict(columns, schema=RECORDS_WITH_HEADERS)
