"""``make bench ARGS=folders``: what many folders in one range cost, alone: CPU of split, rows, format and facts.

JSON events that fall into so many folders at random. Each case runs in a process of its own (`bench.one_range`).
"""

import random
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from bench.events import SCHEMA, event
from bench.one_range import compare
from logpersister.manifest.spec import Spec
from logpersister.records.schema import RECORDS_WITH_HEADERS

BATCH_ROWS = 2500


def spec_of(folders: int, output: str = "parquet", **storage: Any) -> dict[str, Any]:
    """Return a spec that stores events in so many folders."""
    levels = [{"bucket": {"field": "user", "count": folders}}] if folders > 1 else []
    return {
        "kafka": {"bootstrapServers": "none:9092", "topics": ["events"]},
        "storage": {"bucket": "none", **storage},
        "value": {"json": dict(SCHEMA)},
        "output": {output: {}, "partitionBy": levels},
    }


def batches(record_bytes: int, megabytes: int) -> Iterator[pa.RecordBatch]:
    """Yield events; the same in every run."""
    chance = random.Random(record_bytes)
    for first in range(0, megabytes * 10**6 // record_bytes, BATCH_ROWS):
        values = [event(chance, record_bytes).encode() for _ in range(BATCH_ROWS)]
        rows = [
            {"offset": first + number, "timestamp": 1_795_237_200_000, "value": value, "headers": []}
            for number, value in enumerate(values)
        ]
        yield pa.RecordBatch.from_pylist(rows, schema=RECORDS_WITH_HEADERS)


CASES = {f"{folders:,}": Spec.model_validate(spec_of(folders)) for folders in (1, 10, 100, 1000, 10_000)}
"""By the number of folders."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print the table."""
    compare("folders", __doc__, CASES, lambda _, *sizes: batches(*sizes), arguments)
