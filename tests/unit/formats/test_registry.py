"""From the manifest to a format."""

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from logpersister.compiled.formats import formats_of
from logpersister.formats.base import ObjectIdentity
from logpersister.formats.registry import make_format
from logpersister.manifest.blocks.output import Format, OutputSpec
from logpersister.ranges import Range, TopicPartition
from logpersister.records.escaping import QUARANTINE
from logpersister.records.late import CAME_LATE
from logpersister.records.schema import FIELD, REASON
from tests.formats_of_output import COMPRESSIONS
from tests.unit.formats.samples import Record, batch, encode, many_records, with_headers
from tests.unit.manifest.documents import accepted


@pytest.mark.parametrize(
    ("name", "compression"), [(name, each) for name, allowed in COMPRESSIONS.items() for each in allowed]
)
def test_everything_that_the_manifest_allows_exists(name: Format, compression: str) -> None:
    made = make_format(OutputSpec.of(name, compression=compression))
    assert encode(made, [with_headers(batch(many_records(1000)))])


def test_quarantine_with_late_records_has_all_of_them_whatever_the_others_have() -> None:
    """Also null values, which text leaves out."""
    by_day = {"partitionBy": [{"date": {"granularity": "day"}}]}
    made = formats_of(accepted({"spec.output": by_day, "spec.finish": {"late": "quarantine"}}).spec)
    plain = make_format(OutputSpec())
    records = with_headers(batch([Record(7, 5, b"k", None)]), [[(b"h", b"v")]])
    late = records.append_column(REASON, pa.array([CAME_LATE])).append_column(FIELD, pa.nulls(1, pa.string()))
    content = encode(made, [late], ObjectIdentity(Range(TopicPartition("clicks", 0), 7, 8), QUARANTINE))
    (row,) = pq.read_table(io.BytesIO(content)).to_pylist()
    assert (row["kafka_offset"], row["kafka_key"], row["value"], row["reason"]) == (7, b"k", None, CAME_LATE)
    assert row["kafka_headers"] == [{"key": b"h", "value": b"v"}]
    assert encode(made, [records]) == encode(plain, [records])
