"""A range with records that one schema refuses, and other schemas accept."""

from collections.abc import Mapping, Sequence
from typing import Any

from logpersister.manifest import LogPersister
from logpersister.storage.replays import Replay, list_replays
from tests.unit.formats.samples import Record
from tests.unit.manifest.documents import accepted
from tests.unit.replay.bucket import GROUP, Bucket, replayer

DAY = 86_400_000
VALUES = [b'{"id": 1}', b'{"id": "2"}', b"{", b'{"id": 3}', b'{"id": "4"}', b'{"n": 5}']
RECORDS = [Record(100 + place, DAY * place, b"k", value) for place, value in enumerate(VALUES)]
GOOD = {"dt=1970-01-01": 100, "dt=1970-01-04": 103}
_BY_DAY = [{"date": {"granularity": "day"}}]


def resource(
    type_: str,
    *,
    required: bool = True,
    keep: Sequence[dict[str, Any]] = (),
    faults: Mapping[str, str] | None = None,
    **output: Any,
) -> LogPersister:
    block = {"fields": [{"name": "id", "type": type_, "required": required}], "faults": faults or {}}
    output = {"partitionBy": _BY_DAY, **(output or {"parquet": {}})}
    return accepted({"spec.output": output, "spec.value": {"json": block}, "spec.keep": list(keep)})


NUMBERS = resource("int64")
"""Refuses the offsets 101, 102, 104 and 105."""
TEXTS = resource("string")
"""Accepts 101 and 104 of them."""
TEXTS_BUT_4 = resource("string", keep=[{"field": "id", "notIn": ["4"]}])
"""The same, and leaves out 104."""
NO_TEXTS = resource("string", required=False, keep=[{"field": "id", "absent": True}])
"""Leaves out 101 and 104, and accepts 105."""
NOTHING = resource("string", required=False, keep=[{"field": "id", "in": ["none"]}])
"""Leaves out all that it accepts."""
TEXTS_OR_NONE = resource("string", required=False)
"""Accepts 105, too."""
NO_PARSER = accepted({"spec.output": {"jsonl": {"kafkaColumns": ["offset"]}, "partitionBy": _BY_DAY}})


OUTPUTS: dict[str, dict[str, Any]] = {
    "jsonl": {"jsonl": {"compression": "gzip"}},
    "avro": {"avro": {}},
    "orc": {"orc": {}},
    "sequencefile": {"sequencefile": {"key": "messagepack"}},
}
"""That keep all of a record, beside Parquet."""

BUT_1_AND_2: dict[str | None, list[dict[str, Any]]] = {
    "int64": [{"field": "id", "notIn": [1]}],
    "string": [{"field": "id", "notIn": ["2"]}],
}
"""Conditions by the type of the field: leave out 100, or 101."""


def by_late(late: str, type_: str | None = "string", keep: Sequence[dict[str, Any]] = ()) -> LogPersister:
    """Return a resource that finishes folders; without a type it checks nothing and makes no rows."""
    rows: dict[str, Any] = {"spec.output": {"jsonl": {"compression": "none"}, "partitionBy": _BY_DAY}}
    if type_ is not None:
        fields = [{"name": "id", "type": type_, "required": True}]
        rows = {"spec.output": {"parquet": {}, "partitionBy": _BY_DAY}, "spec.value": {"json": {"fields": fields}}}
    return accepted(rows | {"spec.finish": {"late": late}, "spec.keep": list(keep)})


def replay(
    bucket: Bucket, *resources: LogPersister, horizon: int | None = None, leaves_out: bool = False
) -> list[tuple[int, int]]:
    """Replay all; return how many of the records of each object were accepted and refused."""
    runs = replayer(bucket, *resources, horizon=horizon, leaves_out=leaves_out)
    found = [runs.replay(key, name).judgement for key, name in bucket.quarantined()]
    return [(one.accepted, one.refused) for one in found]


def noted(bucket: Bucket) -> list[Replay]:
    return list(list_replays(bucket.store, GROUP, "clicks"))
