"""Every use of what kafka-python keeps private, each with the reason.

Written against kafka-python 3.0.12; to be looked at again with each new version.
"""

import contextlib

import kafka.errors
from kafka import KafkaConsumer


def keep_rejoining(consumer: KafkaConsumer) -> None:
    """Let the next poll go on with a join that the last poll left in flight. To be called before each poll.

    A leader that joins again because topics or partitions were added forgets that it must, as soon as it has assigned
    partitions: when a poll ends before the answer to SyncGroup, the next one sees no need to join and never takes it.
    Heartbeats stay off meanwhile, so the group drops the member, which never notices.
    """
    coordinator = consumer._coordinator  # noqa: SLF001
    if coordinator.rejoining:
        coordinator.request_rejoin()


def refresh_metadata(consumer: KafkaConsumer, timeout_seconds: float) -> None:
    """Wait until the metadata of the subscribed topics is here, at most so long.

    kafka-python does this itself for patterns, not for topics: a leader's first assignment is then an empty one.
    Brokers that do not answer are left to the next poll.
    """
    with contextlib.suppress(kafka.errors.KafkaError):
        update = consumer._cluster.request_update()  # noqa: SLF001
        consumer._net.run(consumer._manager.wait_for, update, int(timeout_seconds * 1000))  # noqa: SLF001


async def pause(consumer: KafkaConsumer, seconds: float) -> None:
    """Sleep inside a rebalance listener: there is no public way to do that on the library's own event loop."""
    await consumer._net.sleep(seconds)  # noqa: SLF001
