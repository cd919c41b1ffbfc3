"""What the manifest lets through, the parts that take it can use."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logpersister.formats.registry import make_format
from logpersister.formats.text.settings import TextSpec
from logpersister.manifest.blocks.kafka import KafkaSpec
from logpersister.manifest.blocks.partition_rule import DateRule, PartitionRule
from logpersister.manifest.blocks.storage import StorageSpec
from logpersister.records.paths import make_layout
from logpersister.storage.names import object_key, parse_object_key, revision_key
from tests.examples import examples
from tests.formats_of_output import COMPRESSIONS
from tests.unit.manifest.documents import accepted


@pytest.mark.parametrize(("name", "compression"), [(name, one) for name, many in COMPRESSIONS.items() for one in many])
def test_every_compression_exists(name: str, compression: str) -> None:
    make_format(accepted({"spec.output": {name: {"compression": compression}}}).spec.output)


@examples(100)
@given(st.from_regex(r"[A-Za-z0-9_.=-]{0,64}", fullmatch=True))
def test_every_prefix_of_a_folder_can_stand_there(prefix: str) -> None:
    try:
        rule = DateRule(granularity="day", prefix=prefix)
    except ValueError:
        return
    make_layout([PartitionRule(date=rule)])


@examples(100)
@given(
    st.from_regex(r"[A-Za-z0-9!_.*'()=/-]{0,40}", fullmatch=True),
    st.from_regex(r"[A-Za-z0-9._-]{1,40}", fullmatch=True),
)
def test_every_prefix_and_group_name_objects(prefix: str, group: str) -> None:
    try:
        StorageSpec(bucket="logs", prefix=prefix)
        KafkaSpec(bootstrap_servers="a:1", topics=("t",), group_id=group)
    except ValueError:
        return
    key = object_key(prefix, "clicks", "dt=2026-11-21", 1, 0, 5, ".txt")
    found = parse_object_key(prefix, key)
    assert found is not None
    assert (found.topic, found.start) == ("clicks", 5)
    assert revision_key(prefix, group, "0123456789ab").startswith(prefix)


@examples(100)
@given(st.text(max_size=17), st.sampled_from(["keep", "escape"]))
def test_every_delimiter_can_be_written(delimiter: str, in_value: Any) -> None:
    try:
        text = TextSpec(delimiter=delimiter, delimiter_in_value=in_value)
    except ValueError:
        return
    output = accepted({}).spec.output.model_copy(update={"text": text})
    make_format(output)
