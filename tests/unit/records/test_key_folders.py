"""Folders by the key of records."""

from urllib.parse import unquote_to_bytes

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from logpersister.manifest.blocks.partition_rule import PartitionRule
from logpersister.records.escaping import MAX_SEGMENT_BYTES, is_aside, is_safe_path
from logpersister.records.key_folders import MOST_BYTES, NO_KEY, key_name
from logpersister.records.paths import make_layout
from tests.examples import examples
from tests.unit.formats.samples import Record, batch


@examples(200)
@given(keys=st.lists(st.binary(max_size=80) | st.sampled_from([b"unknown", b"_late", b"..", b"x" * 300]), unique=True))
def test_each_key_has_a_folder_of_its_own(keys: list[bytes]) -> None:
    found = [key_name(key) for key in keys if key]
    assert len(set(found) | {NO_KEY}) == len(found) + 1
    for key, name in zip(filter(None, keys), found, strict=True):
        assert is_safe_path(name)
        assert not is_aside(name)
        assert len(name) <= MOST_BYTES < MAX_SEGMENT_BYTES - 64
        assert "~" in name or unquote_to_bytes(name) == key


def test_folders_of_feeds_by_hour() -> None:
    dates = [{"date": {"granularity": granularity, "prefix": ""}} for granularity in ("year", "month", "day", "hour")]
    layout = make_layout([PartitionRule.model_validate(one) for one in ({"key": {"prefix": ""}}, *dates)])
    rows = [
        Record(1, 1_795_521_600_000, b"prices", b""),
        Record(2, 1_795_521_600_000, None, b""),
        Record(3, -1, b"prices", b""),
    ]
    found = layout.assign(batch(rows))
    paths = [found.paths[index] for index in found.indices]
    assert paths == ["prices/2026/11/24/12", "unknown/2026/11/24/12", "prices/unknown/unknown/unknown/unknown"]
    assert PartitionRule.model_validate({"key": {}}).folder_prefix == "key="
    assert key_name.cache_info().maxsize == 4096
    assert pa.types.is_binary(batch(rows).schema.field("key").type)
