"""Parsers: which values are what they must be, for whole batches at once.

The only module that knows the native check (``spark-app/native/src/json.rs``).
"""

from dataclasses import dataclass
from typing import Protocol, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

import logpersister_native as native
from logpersister.manifest.parser import ParserSpec

JSON_RULES = 1
"""Raise it when the check judges any value otherwise than before, also by a new serde_json."""

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Refused:
    """The records of a batch that the parser refused; at least one."""

    rows: Rows
    """Ascending."""
    reason: str
    """Why the first of them was refused; has the position, and never anything of the value."""


class Parser(Protocol):
    """Looks at values; picklable."""

    def refused(self, batch: pa.RecordBatch) -> Refused | None:
        """Return the rows of `batch` (columns of `records.schema`) that are not what they must be; None: all are."""


@dataclass(frozen=True, slots=True)
class JsonParser:
    """Each value is one JSON document (RFC 8259) in UTF-8, nested at most 128 deep. Null values are not looked at."""

    def refused(self, batch: pa.RecordBatch) -> Refused | None:
        rows, reason = native.not_json(cast("pa.BinaryArray", batch.column("value")))
        return None if reason is None else Refused(rows.to_numpy(zero_copy_only=True), f"not JSON: {reason}")


def make_parser(spec: ParserSpec) -> Parser | None:
    """Return what ``spec.parser`` asks for; None when any bytes are good."""
    return JsonParser() if spec.type == "json" else None
