"""Records of quarantine that a manifest leaves out (``spec.keep``, ``spec.types``), where nobody has said that they go.

A replay may not lose what it was not told to delete. So to its layout these records are refused ones, and stand with
them in quarantine, for a later replay under another manifest, or with consent.
"""

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import pyarrow as pa

from logpersister.records.escaping import QUARANTINE
from logpersister.records.event_types import FindTypes, Found
from logpersister.records.keeping import Headers
from logpersister.records.paths import Assignment, Layout
from logpersister.records.topic_layout import TopicLayout
from logpersister.records.type_names import DROPPED, REFUSED, Place
from logpersister.values.reading.parsers import refused_with

LEFT_OUT: Final = "left_out"
"""Why a record is in quarantine that the parser has not refused."""
_PLACE: Final = Place(REFUSED, reason=LEFT_OUT)


def refusing_left_out(layout: TopicLayout) -> TopicLayout:
    """Return a layout that refuses what another one leaves out."""
    rules = [replace(rule, layout=RefusingLayout(rule.layout)) for rule in layout.rules]
    if not layout.has_types:
        return replace(layout, rules=rules)
    return replace(layout, finder=RefusingFinder(layout.finder, layout.headers), rules=rules, headers=None)


@dataclass(frozen=True, slots=True)
class RefusingLayout:
    """Gives records that a layout leaves out the path of quarantine."""

    inner: Layout

    def assign(self, batch: pa.RecordBatch) -> Assignment:
        found = self.inner.assign(batch)
        if found.kept is None:
            return found
        left_out = np.delete(np.arange(batch.num_rows), found.kept)
        paths = found.paths if found.refused is None else found.paths[:-1]
        refused = None if found.refused is None else replace(found.refused, rows=found.kept[found.refused.rows])
        indices = np.full(batch.num_rows, len(paths), np.int32)
        indices[found.kept] = found.indices
        adjusted = found.adjusted
        return Assignment(
            [*paths, QUARANTINE],
            indices,
            refused_with(refused, left_out, LEFT_OUT),
            found.rows,
            None if adjusted is None else replace(adjusted, records=found.kept[adjusted.records]),
            found.keeps_refused_values,
        )


@dataclass(frozen=True, slots=True)
class RefusingFinder:
    """Refuses records of types that are dropped, and those that do not fulfil conditions on headers."""

    inner: FindTypes
    headers: Headers | None

    def find(self, batch: pa.RecordBatch) -> Found:
        found = self.inner.find(batch)
        places = [_PLACE if place.rule == DROPPED else place for place in found.places]
        kept = None if self.headers is None else self.headers.kept(batch)
        if kept is None:
            return Found(places, found.indices)
        indices = np.full(batch.num_rows, len(places), np.int32)
        indices[kept] = found.indices[kept]
        return Found([*places, _PLACE], indices)
