"""``make bench ARGS=types``: what many types in one range cost, alone: CPU of split, rows, Parquet and facts.

A stream as Garmadon's: protobuf in frames, some types frequent and most sparse, days out of order. Each case runs in a
process of its own (`bench.one_range`).
"""

import random
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from bench.one_range import compare
from logpersister.manifest.spec import Spec
from logpersister.records.schema import RECORDS_WITH_HEADERS

DAY = 86_400_000
FIRST_DAY = 20_000
FIRST_TYPE = 1000
BATCH_ROWS = 2500
DAYS = 3
"""That the records are of."""
PROTO = """message Event {{
  optional int64 id = 1; optional string user = 2; optional string path = 3;
  optional double value = 4; optional string note_{0} = 5;
}}"""
"""Each type has a schema of its own, as in life."""
FRAME = {"type": {"at": 0}, "timestamp": {"at": 4, "bytes": 8}, "header": {"lengthAt": 12}, "body": {"lengthAt": 16}}
HEADER = b"\x0a\x0bapplication\x12\x08attempt1"


def spec_of(types: int) -> Spec:
    """Return a spec that stores each type as Parquet by day."""
    entries = [
        {
            "names": [str(FIRST_TYPE + number)],
            "folder": f"event_{number}",
            "value": {"protobuf": {"schema": PROTO.format(number)}},
        }
        for number in range(types)
    ]
    return Spec.model_validate(
        {
            "kafka": {"bootstrapServers": "none:9092", "topics": ["events"]},
            "storage": {"bucket": "none"},
            "output": {"parquet": {}, "partitionBy": [{"date": {"granularity": "day"}}]},
            "types": {"frame": FRAME, "entries": entries},
        }
    )


def batches(types: int, megabytes: int) -> Iterator[pa.RecordBatch]:
    """Yield records; the same in every run. The first types are frequent, the last ones sparse."""
    chance = random.Random(types)
    offset = size = 0
    while size < megabytes * 10**6:
        rows: list[Mapping[str, Any]] = []
        for _ in range(BATCH_ROWS):
            type_ = FIRST_TYPE + int(types * chance.random() ** 2)
            milliseconds = (FIRST_DAY + chance.randrange(DAYS)) * DAY + chance.randrange(DAY)
            body = _body(chance, offset)
            value = struct.pack(">iqii", type_, milliseconds, len(HEADER), len(body)) + HEADER + body
            rows.append({"offset": offset, "timestamp": milliseconds, "value": value, "headers": []})
            offset, size = offset + 1, size + len(value)
        yield pa.RecordBatch.from_pylist(rows, schema=RECORDS_WITH_HEADERS)


def _body(chance: random.Random, number: int) -> bytes:
    user, path = b"user%d" % chance.randrange(5000), b"/data/table_%d/part-%05d" % divmod(chance.randrange(10**6), 4000)
    texts = {2: user, 3: path, 5: chance.randbytes(90).hex().encode()}
    fields = [bytes([field << 3 | 2, *_varint(len(text))]) + text for field, text in texts.items()]
    return bytes([8, *_varint(number)]) + b"".join(fields) + b"\x21" + struct.pack("<d", chance.random())


def _varint(number: int) -> bytes:
    found = []
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])


CASES = {f"{types} types": types for types in (1, 200)}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print the table."""
    specs = {name: spec_of(types) for name, types in CASES.items()}
    compare("types", __doc__, specs, lambda name, _, megabytes: batches(CASES[name], megabytes), arguments)
