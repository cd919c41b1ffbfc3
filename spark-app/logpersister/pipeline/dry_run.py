"""Compares the stored objects of a range with those that would be written, before a byte is written.

For ranges that a build with other rules has promised, and may have begun to write (`pipeline.rules`). Where both give
the same objects, it makes no difference who executes the range. Where not, some of its records would be in two.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator

import pyarrow as pa

from logpersister.pipeline.splitting import by_path
from logpersister.pipeline.summary import Summary
from logpersister.pipeline.work import RangeWork
from logpersister.records.topic_layout import TopicLayout
from logpersister.storage.facts import ForeignObjectError, ObjectFacts
from logpersister.storage.ranges import Stored

MOST_TOLD = 3
"""Objects that an error names."""

KeyOf = Callable[[RangeWork, str], str]
"""Returns the name of the object of a range and a path."""


class OtherRulesError(Exception):
    """The stored objects of a range are not those that this build would write; nothing was written."""


class DryRun:
    """One pass over a range in which nothing is written; used like `persist.RangeWriter`."""

    def __init__(
        self, work: RangeWork, group: str, layout: TopicLayout, key_of: KeyOf, stored: Stored, others: str
    ) -> None:
        """Begin.

        Args:
            work: the range.
            group: whose objects they must be.
            layout: the folders that this build gives to records.
            key_of: the names that it gives to objects.
            stored: what is there; something.
            others: who may have begun to write it, and how his rules differ, for people.
        """
        self._work, self._group, self._layout, self._key_of = work, group, layout, key_of
        self._stored, self._others = stored, others
        self._summaries: defaultdict[str, Summary] = defaultdict(Summary)

    def write(self, batch: pa.RecordBatch) -> None:
        if batch.num_rows:
            for path, part in by_path(batch, self._layout):
                self._summaries[path].update(part)

    def end_pass(self, unexplained: int = 0) -> bool:  # noqa: ARG002 - as a writer's
        """Return True: now the range may be written, in a pass of its own. Raises `OtherRulesError`."""
        differing = list(self._differences())
        if not differing:
            return True
        told = "; ".join(differing[:MOST_TOLD])
        more = f"; and {len(differing) - MOST_TOLD} more" if len(differing) > MOST_TOLD else ""
        raise OtherRulesError(f"{self._work.range} was begun by {self._others}. {told}{more}")

    def _differences(self) -> Iterator[str]:
        written = {self._key_of(self._work, path): summary.facts() for path, summary in self._summaries.items()}
        for key, facts in sorted(self._stored.items()):
            ours = written.get(key)
            if isinstance(facts, ForeignObjectError):
                yield str(facts)
            elif (facts.group, facts.range, facts.generation) != (self._group, self._work.range, self._work.generation):
                yield f"object {key!r} is {facts.range} of generation {facts.generation} of group {facts.group!r}"
            elif ours is None:
                yield f"object {key!r} is there, and this member would put its {facts.records} records elsewhere"
            else:
                theirs = _said(facts)
                differing = [name for name in theirs if theirs[name] != ours[name]]
                if differing:
                    name = differing[0]
                    yield f"object {key!r} has {name} {theirs[name]}, and this member would write {ours[name]}"


def _said(facts: ObjectFacts) -> dict[str, str]:
    said = {"first": str(facts.first), "last": str(facts.last), "records": str(facts.records)}
    if facts.checksum_is_of_payloads:
        said |= {"tombstones": str(facts.tombstones), "checksum": facts.checksum}
    return said
