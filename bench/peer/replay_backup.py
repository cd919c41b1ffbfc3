"""The script that one writes to make Parquet of a backup.

``python -m bench.peer.replay_backup ENDPOINT BUCKET FROM TO``; keys of the bucket are in the environment. Record after
record: kafka-python reads record batches, json values, and pyarrow makes a file of the rows of an object.
"""

import io
import json
import sys
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

import boto3
import pyarrow as pa
import pyarrow.parquet as pq
from kafka.record import MemoryRecords

ITEM = pa.struct([("sku", pa.string()), ("price", pa.float64()), ("qty", pa.int32())])
PLACE = pa.struct([("country", pa.string()), ("city", pa.string()), ("lat", pa.float64()), ("lon", pa.float64())])
COLUMNS: Mapping[str, pa.DataType] = {
    "id": pa.int64(),
    "at": pa.timestamp("ms", "UTC"),
    "type": pa.string(),
    "ok": pa.bool_(),
    "amount": pa.float64(),
    "geo": PLACE,
    "user": pa.string(),
    "tags": pa.list_(pa.string()),
    "attrs": pa.map_(pa.string(), pa.string()),
    "items": pa.list_(ITEM),
    "message": pa.string(),
}
"""Of `bench.events`."""
SCHEMA = pa.schema(COLUMNS)
ROWS_AT_ONCE = 20_000


def rows(content: bytes, start: int, end: int) -> Iterator[dict[str, Any]]:
    """Yield the rows of the records that an object has of its range."""
    records = MemoryRecords(content)
    while records.has_next():
        for record in records.next_batch():
            if start <= record.offset < end:
                row = json.loads(record.value)
                row["at"] = datetime.fromisoformat(row["at"])
                row["attrs"] = list(row["attrs"].items())
                yield row


def main(endpoint: str, bucket: str, source: str, target: str) -> None:
    """Write a file for each object below a prefix; print how many rows that were."""
    client = boto3.client("s3", endpoint_url=endpoint)
    listed = client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=source)
    count = 0
    for key in [entry["Key"] for page in listed for entry in page.get("Contents", [])]:
        answer = client.get_object(Bucket=bucket, Key=key)
        start, end = (int(answer["Metadata"][name]) for name in ("start", "end"))
        file = io.BytesIO()
        waiting: list[dict[str, Any]] = []
        with pq.ParquetWriter(file, SCHEMA, compression="zstd") as writer:
            for row in rows(answer["Body"].read(), start, end):
                waiting.append(row)
                if len(waiting) == ROWS_AT_ONCE:
                    count += len(waiting)
                    writer.write_table(pa.Table.from_pylist(waiting, SCHEMA))
                    waiting = []
            count += len(waiting)
            writer.write_table(pa.Table.from_pylist(waiting, SCHEMA))
        client.put_object(Bucket=bucket, Key=target + key.rpartition("/")[2] + ".parquet", Body=file.getvalue())
    print(count)


if __name__ == "__main__":
    main(*sys.argv[1:])
