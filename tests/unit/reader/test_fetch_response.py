"""Our parser of fetch responses against kafka-python's encoder."""

import contextlib
from typing import Any
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st
from kafka.protocol.consumer import FetchResponse

from logpersister.pipeline.reader import response
from logpersister.pipeline.reader.decode import Aborted
from logpersister.pipeline.reader.messages import FetchAnswer
from logpersister.ranges import TopicPartition

TopicResponse = FetchResponse.FetchableTopicResponse
PartitionResponse = TopicResponse.PartitionData
IDS = {"orders": UUID(int=1), "clicks": UUID(int=2)}
NAMES = {topic_id.bytes: name for name, topic_id in IDS.items()}
VERSIONS = range(response.LOWEST_VERSION, response.HIGHEST_VERSION + 1)

partitions = st.fixed_dictionaries(
    {
        "partition_index": st.integers(0, 2**31 - 1),
        "error_code": st.integers(-1, 130),
        "high_watermark": st.integers(-1, 2**63 - 1),
        "last_stable_offset": st.integers(-1, 2**63 - 1),
        "log_start_offset": st.integers(-1, 2**63 - 1),
        "preferred_read_replica": st.integers(-1, 2**31 - 1),
        "records": st.none() | st.binary(max_size=300),
    }
)
aborted = st.none() | st.lists(st.tuples(st.integers(0, 2**63 - 1), st.integers(0, 2**63 - 1)), max_size=3)
topics = st.dictionaries(
    st.sampled_from(sorted(IDS)),
    st.lists(
        st.tuples(partitions, aborted, st.none() | st.integers(0, 2**40)),
        max_size=4,
        unique_by=lambda one: one[0]["partition_index"],
    ),
)


def encoded(version: int, throttle_ms: int, error: int, content: dict[str, Any]) -> bytes:
    def partition(fields: dict[str, Any], transactions: Any, diverging: int | None) -> Any:
        tagged = {}
        if diverging is not None and version >= 12:
            tagged["diverging_epoch"] = PartitionResponse.EpochEndOffset(epoch=3, end_offset=diverging)
        listed = (
            None
            if transactions is None
            else [
                PartitionResponse.AbortedTransaction(producer_id=producer, first_offset=offset)
                for producer, offset in transactions
            ]
        )
        return PartitionResponse(**fields, aborted_transactions=listed, **tagged)

    message = FetchResponse(
        throttle_time_ms=throttle_ms,
        error_code=error,
        session_id=0,
        responses=[
            TopicResponse(topic=name, topic_id=IDS[name], partitions=[partition(*one) for one in found])
            for name, found in content.items()
        ],
    )
    return bytes(message.encode(version=version))


@given(st.sampled_from(VERSIONS), st.integers(0, 10**6), st.integers(-1, 100), topics)
def test_what_kafka_python_writes_is_read(version: int, throttle_ms: int, error: int, content: dict[str, Any]) -> None:
    data = encoded(version, throttle_ms, error, content)
    answer = response.parse(memoryview(data), version, NAMES)
    assert answer.throttle == throttle_ms / 1000
    assert answer.error == (error if version >= 7 else 0)
    assert answer.size == len(data)
    assert sum(len(found) for found in content.values()) == len(answer.parts)
    for name, found in content.items():
        for fields, transactions, diverging in found:
            part = answer.parts[TopicPartition(name, fields["partition_index"])]
            assert part.error == fields["error_code"]
            assert part.high_watermark == fields["high_watermark"]
            assert part.last_stable_offset == fields["last_stable_offset"]
            assert part.log_start == (fields["log_start_offset"] if version >= 5 else -1)
            assert part.preferred_replica == (fields["preferred_read_replica"] if version >= 11 else -1)
            assert bytes(part.records) == (fields["records"] or b"")
            assert part.aborted == tuple(Aborted(*one) for one in transactions or ())
            assert part.diverging_end == (diverging if diverging is not None and version >= 12 else -1)


@given(st.sampled_from(VERSIONS), topics, st.data())
def test_damaged_responses_are_malformed_never_a_crash(
    version: int, content: dict[str, Any], data: st.DataObject
) -> None:
    whole = bytearray(encoded(version, 0, 0, content))
    for _ in range(data.draw(st.integers(0, 3))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    cut = whole[: data.draw(st.integers(0, len(whole)))]
    with contextlib.suppress(response.MalformedResponseError):
        assert isinstance(response.parse(memoryview(cut), version, NAMES), FetchAnswer)
