"""The promise of `formats.base.Encoder`: how records are cut into batches has no influence on the bytes."""

import os
import subprocess
import sys
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logpersister.formats import binary, compression
from logpersister.formats.avro import container as avro_container
from logpersister.formats.base import Format, ObjectIdentity
from logpersister.formats.orc import write as orc
from logpersister.formats.sequencefile import blocks as sequencefile_blocks
from logpersister.formats.sequencefile import records as sequencefile_records
from logpersister.ranges import Range
from tests.examples import examples
from tests.unit.formats.events import native_files
from tests.unit.formats.samples import FORMATS, IDENTITY, Record, batch, cut, encode, label, many_records, records

MANY = batch(many_records(2_300_000))
_whole: dict[str, bytes] = {}


@pytest.mark.parametrize("file_format", FORMATS, ids=label)
@examples(4)
@given(cuts=st.lists(st.integers(0, MANY.num_rows), max_size=40))
def test_cutting_large_content_otherwise_gives_the_same_bytes(file_format: Format, cuts: list[int]) -> None:
    """At production sizes: several chunks, sync intervals and blocks."""
    name = label(file_format)
    if name not in _whole:
        _whole[name] = encode(file_format, [MANY])
    is_same = encode(file_format, cut(MANY, cuts)) == _whole[name]
    assert is_same, "other bytes"  # a comparison that is shown takes minutes for as many


@pytest.mark.parametrize("file_format", FORMATS, ids=label)
@examples(30)
@given(
    rows=records(), cuts=st.lists(st.integers(0, 30), max_size=12), slice_bytes=st.sampled_from([1, 100, 700, 1 << 20])
)
def test_cutting_any_content_otherwise_gives_the_same_bytes(
    file_format: Format, rows: list[Record], cuts: list[int], slice_bytes: int
) -> None:
    """With chunks, intervals and blocks so small that every record meets one."""
    with (
        mock.patch.object(compression, "CHUNK_BYTES", 100),
        mock.patch.object(sequencefile_records, "SYNC_INTERVAL", 150),
        mock.patch.object(sequencefile_blocks, "BLOCK_BYTES", 400),
        mock.patch.object(avro_container, "BLOCK_BYTES", 250),
        mock.patch.object(orc, "GROUP_BYTES", 300),
    ):
        whole = encode(file_format, [batch(rows)])
        with mock.patch.object(binary.slices, "__defaults__", (slice_bytes,)):
            assert encode(file_format, cut(batch(rows), cuts)) == whole


@pytest.mark.parametrize("file_format", FORMATS, ids=label)
def test_the_end_of_the_range_is_not_in_the_bytes(file_format: Format) -> None:
    longer = Range(IDENTITY.range.partition, IDENTITY.range.start, IDENTITY.range.end + 1)
    few = [MANY.slice(0, 50)]
    assert encode(file_format, few, ObjectIdentity(longer, IDENTITY.path)) == encode(file_format, few)


_SCRIPT = "import sys; from tests.unit.formats.events import native_files; sys.stdout.buffer.write(native_files())"


@pytest.mark.slow
def test_the_machine_is_not_in_the_bytes() -> None:
    """Neither its time zone, nor what another process has in memory that nobody has written to."""
    other = {"TZ": "Asia/Tokyo", "PYTHONHASHSEED": "5", "MALLOC_PERTURB_": "165"}
    environment = os.environ | other | {"PYTHONPATH": os.pathsep.join(sys.path)}
    assert (
        subprocess.run([sys.executable, "-c", _SCRIPT], env=environment, stdout=-1, check=True).stdout == native_files()
    )
