"""``logpersister quarantine``: with ``ls`` and ``show`` the records that the parser refused, and why.

Reasons are those of the parser of the manifest: what a changed schema would accept is seen before it is applied.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from typing import Any, Final, TextIO

from logpersister.cli import bucket, context, registry, replaying
from logpersister.cli.exits import Exit
from logpersister.cli.progress import counted
from logpersister.cli.refused import ACCEPTED, Judge, RefusedRecord, Unreadable, judge_of, refused_records
from logpersister.cli.rows import bytes_document, text_of
from logpersister.cli.stored import Entry, in_quarantine
from logpersister.cli.tables import cut, printable, table
from logpersister.manifest import LogPersister
from logpersister.report.human import number, plural, size
from logpersister.storage.finished import horizon_of
from logpersister.storage.store import ObjectStore

Document = dict[str, Any]
Reason = tuple[str, str, str | None]

WIDEST_VALUE: Final = 200
"""Characters of a value that people are shown; ``--json`` has all."""
COLUMNS: Final = ("TOPIC", ">RECORDS", "REASON", "FIELD", "FIRST")


def run(arguments: argparse.Namespace) -> int:
    """Count, show or replay; objects that cannot be read are told, and make the command fail."""
    if arguments.action == "replay":
        return replaying.run(arguments)
    resource, secrets = context.begin(arguments, arguments.topic)
    with (
        bucket.opened(resource, secrets) as store,
        registry.all_opened(secrets) as registries,
        registry.resources(resource, secrets) as resource_of,
    ):

        @lru_cache
        def judging(topic: str) -> Judge:
            found = resource_of(topic)
            spec, horizon = found.spec, None
            if spec.quarantines_late:
                horizon = horizon_of(store, resource.group_id, topic, spec.generation)
            return judge_of(spec, registry.writers_of(found, registries), horizon)

        walk = Walk(resource, store, arguments.topic, judging)
        if arguments.action == "ls":
            summary = Summary.of(walk.records())
            (_write_json if arguments.json else _write_table)(resource, walk, summary, sys.stdout)
        else:
            _show(resource, walk, arguments, sys.stdout)
    for one in walk.unreadable:
        print(f"{printable(one.entry.listed.key)}: cannot be read: {one.why}", file=sys.stderr)
    if all(one.is_away for one in walk.unreadable):
        return Exit.UNREACHABLE if walk.unreadable else Exit.OK
    return Exit.FAILED


def _show(resource: LogPersister, walk: "Walk", arguments: argparse.Namespace, out: TextIO) -> None:
    wanted = (one for one in walk.records() if arguments.reason in (None, one.reason))
    shown = islice(wanted, arguments.records)
    number_shown = number_cut = 0
    if arguments.json:
        records = [_document(one) for one in shown]
        number_shown = len(records)
        out.write(json.dumps({"group": resource.group_id, "records": records, **walk.failures()}) + "\n")
    else:
        for record in shown:
            value = text_of(record.value or b"")
            some = value if arguments.whole else cut(value, WIDEST_VALUE)
            told = [printable(record.entry.name.topic), record.where, record.reason, record.field or "-", some]
            out.write("\t".join(told) + "\n")
            number_shown += 1
            number_cut += some != value
    if number_cut:
        print(f"{plural(number_cut, 'value')} cut at {WIDEST_VALUE} characters; --whole shows all", file=sys.stderr)
    if arguments.reason is not None and arguments.records and not number_shown:
        other = "no record in quarantine has this reason; logpersister quarantine ls shows those that they have"
        print(f"--reason {printable(arguments.reason)}: {other}", file=sys.stderr)


class Walk:
    """One way through the quarantine of a group."""

    def __init__(
        self, resource: LogPersister, store: ObjectStore, topic: str | None, judging: Callable[[str], Judge]
    ) -> None:
        self._store, self._group = store, resource.group_id
        self._judging = judging
        self._found = in_quarantine(store, resource.spec.kafka, topic)
        self.objects = self.bytes = 0
        self.unreadable: list[Unreadable] = []

    def records(self) -> Iterator[RefusedRecord]:
        """Yield the records; what cannot be read is noted."""
        for one in counted(refused_records(self._store, self._group, self._entries(), self._judging), "records read"):
            if isinstance(one, Unreadable):
                self.unreadable.append(one)
            else:
                yield one

    def failures(self) -> Document:
        """Return what could not be read so far, for a document."""
        return {"unreadable": [{"object": one.entry.listed.key, "message": one.why} for one in self.unreadable]}

    def _entries(self) -> Iterator[Entry]:
        for entry in self._found:
            self.objects += 1
            self.bytes += entry.listed.size
            yield entry


@dataclass(slots=True)
class Summary:
    """Records by reason, and where the first of each is."""

    records: Counter[Reason] = field(default_factory=Counter)
    first: dict[Reason, RefusedRecord] = field(default_factory=dict)

    @classmethod
    def of(cls, records: Iterator[RefusedRecord]) -> "Summary":
        summary = cls()
        for one in records:
            reason = one.entry.name.topic, one.reason, one.field
            summary.records[reason] += 1
            summary.first.setdefault(reason, one)
        return summary

    @property
    def accepted(self) -> int:
        return sum(count for (_, reason, _), count in self.records.items() if reason == ACCEPTED)

    def lines(self) -> list[tuple[Reason, int]]:
        """Return the reasons of each topic, the most frequent one first."""
        return sorted(self.records.items(), key=lambda one: (one[0][0], -one[1], one[0][1], one[0][2] or ""))


def _write_table(resource: LogPersister, walk: Walk, summary: Summary, out: TextIO) -> None:
    rows = (
        [topic, number(count), reason, path or "-", summary.first[topic, reason, path].where]
        for (topic, reason, path), count in summary.lines()
    )
    if summary.records:
        table(COLUMNS, rows, out)
        out.write("\n")
    total = summary.records.total()
    out.write(f"{plural(total, 'record')} in {plural(walk.objects, 'object')}, {size(walk.bytes)}\n")
    if summary.accepted:
        out.write(
            f"the parser of {printable(resource.name)} accepts {number(summary.accepted)} of them now; "
            "logpersister quarantine replay stores them in their folders\n"
        )


def _write_json(resource: LogPersister, walk: Walk, summary: Summary, out: TextIO) -> None:
    reasons = [
        {
            "topic": topic,
            "reason": reason,
            "field": path,
            "records": count,
            **_place(summary.first[topic, reason, path]),
        }
        for (topic, reason, path), count in summary.lines()
    ]
    totals = {"records": summary.records.total(), "objects": walk.objects, "bytes": walk.bytes}
    out.write(json.dumps({"group": resource.group_id, "reasons": reasons, "totals": totals, **walk.failures()}) + "\n")


def _place(one: RefusedRecord) -> Document:
    name = one.entry.name
    return {"partition": name.partition, "offset": one.offset, "object": one.entry.listed.key}


def _document(one: RefusedRecord) -> Document:
    told = {"topic": one.entry.name.topic, **_place(one), "reason": one.reason, "field": one.field}
    return told | bytes_document("value", one.value)
