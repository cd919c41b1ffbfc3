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
from logpersister.records.paths import Assignment
from logpersister.records.type_names import DROPPED, REFUSED, Place
from logpersister.values.reading.parsers import refused_with

LEFT_OUT: Final = "left_out"
"""Why a record is in quarantine that the parser has not refused."""
_PLACE: Final = Place(REFUSED, reason=LEFT_OUT)


def left_out_refused(found: Assignment, records: int) -> Assignment:
    """Return an assignment of so many records in which those that it leaves out have the path of quarantine."""
    if found.kept is None:
        return found
    left_out = np.delete(np.arange(records), found.kept)
    paths = found.paths if found.refused is None else found.paths[:-1]
    refused = None if found.refused is None else replace(found.refused, rows=found.kept[found.refused.rows])
    indices = np.full(records, len(paths), np.int32)
    indices[found.kept] = found.indices
    adjusted = None if found.adjusted is None else replace(found.adjusted, records=found.kept[found.adjusted.records])
    refused = refused_with(refused, left_out, LEFT_OUT)
    return replace(found, paths=[*paths, QUARANTINE], indices=indices, refused=refused, adjusted=adjusted, kept=None)


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
