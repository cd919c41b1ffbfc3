"""Every use of what kafka-python keeps private, each with the reason.

Written against kafka-python 3.0.12; to be looked at again with each new version.
"""

import contextlib
from collections.abc import Iterable
from typing import Any

from kafka import KafkaConsumer, TopicPartition
from kafka.errors import RebalanceInProgressError
from kafka.protocol.consumer import HeartbeatRequest
from kafka.protocol.metadata import FindCoordinatorRequest
from kafka.structs import OffsetAndMetadata
from kafka.util import WeakMethod

from logpersister.group.assignor import partition_counts


class UnfencedError(Exception):
    """Committed offsets were read, or were to be read, from a broker that may not be the group's coordinator now."""


def keep_rejoining(consumer: KafkaConsumer) -> bool:
    """Let the next poll join, or go on with a join, where kafka-python forgets to. To be called before each poll.

    Returns whether it has one to go on with.

    A leader that joins again because topics or partitions were added forgets that it must, as soon as it has assigned
    partitions: when a poll ends before the answer to SyncGroup, the next one sees no need to join and never takes it.
    Heartbeats stay off meanwhile, so the group drops the member, which never notices.

    A heartbeat that is told that another process has taken our static name only turns heartbeats off. Joining again
    is refused for the same reason, and that is raised.
    """
    coordinator = consumer._coordinator  # noqa: SLF001
    silenced = coordinator.stable() and not coordinator._heartbeat_enabled  # noqa: SLF001
    if coordinator.rejoining or silenced:
        coordinator.request_rejoin()
        return True
    return False


def always_tell_losses(consumer: KafkaConsumer) -> None:
    """Let the listener hear of every expulsion before the group is joined again. To be called once.

    kafka-python prepares a join once, and tells the listener what was lost only then. A member that is expelled after
    that (a process that is paused between the answers to JoinGroup and SyncGroup) joins again as a new member without
    a word: it would keep partitions that others have owned meanwhile, and send old commits under its new generation.
    """
    coordinator = consumer._coordinator  # noqa: SLF001
    reset = coordinator.reset_generation

    def reset_generation(*arguments: Any, **named: Any) -> None:
        reset(*arguments, **named)
        coordinator.rejoining = False  # what was prepared was another membership

    coordinator.reset_generation = reset_generation


def has_answer(consumer: KafkaConsumer) -> bool | None:
    """Return whether the group's last answer stands; None while a join goes on.

    kafka-python tells the listener nothing of an assignment without partitions.
    """
    coordinator = consumer._coordinator  # noqa: SLF001
    if coordinator.stable():
        return True
    return False if coordinator._generation.is_lost() else None  # noqa: SLF001


def take_late_answers(consumer: KafkaConsumer) -> None:
    """Let the answer to a join count although it came between two polls. To be called once.

    kafka-python throws such an answer away and joins anew. When the leader shares out thousands of partitions, its
    assignment takes longer than a poll, so every answer comes between two: the whole group would join for ever.
    What was answered before the member was expelled is not taken.
    """
    coordinator = consumer._coordinator  # noqa: SLF001
    join_group = coordinator.join_group_async

    async def join_group_async(timeout_ms: float | None = None) -> bool:
        task = coordinator._join_task  # noqa: SLF001
        if task is not None and task.succeeded() and not coordinator._generation.is_lost():  # noqa: SLF001
            answer = task.value

            async def answered() -> bytes:
                return answer  # type: ignore[no-any-return]  # kafka-python has no types

            coordinator._join_task = coordinator._manager.call_soon(answered)  # noqa: SLF001
        joined: bool = await join_group(timeout_ms)
        return joined

    coordinator.join_group_async = join_group_async


def go_on_without_hidden_topics(consumer: KafkaConsumer) -> None:
    """Let new topics and partitions be seen although the user may not see another topic. To be called once.

    kafka-python raises at each update of its metadata that has such a topic, before it looks at the others. It has
    logged the topic by then.
    """
    coordinator, cluster = consumer._coordinator, consumer._cluster  # noqa: SLF001
    take_update = coordinator._handle_metadata_update  # noqa: SLF001

    def take_update_of_visible(updated: Any) -> None:
        updated.unauthorized_topics = set()
        take_update(updated)

    cluster.remove_listener(WeakMethod(take_update))
    cluster.add_listener(take_update_of_visible)


def refresh_metadata(consumer: KafkaConsumer, timeout_seconds: float) -> None:
    """Wait until the metadata of the subscribed topics is here, at most so long.

    kafka-python does this itself for patterns, not for topics: a leader's first assignment is then an empty one.
    Whatever goes wrong is left to the next poll, which says so and tries again.
    """
    with contextlib.suppress(Exception):
        update = consumer._cluster.request_update()  # noqa: SLF001
        consumer._net.run(consumer._manager.wait_for, update, int(timeout_seconds * 1000))  # noqa: SLF001


def bound_waits_for_the_coordinator(consumer: KafkaConsumer, seconds: float) -> None:
    """Bound the time of heartbeats, of finding the coordinator, and of new connections. To be called once.

    kafka-python waits for ``request_timeout_ms``, half a minute by default: a broker that stands still would keep the
    member until its session has ended. A longer wait is right for requests that the group answers when it likes.
    """
    manager = consumer._manager  # noqa: SLF001
    send, milliseconds = manager.send, int(seconds * 1000)

    def send_in_time(request: Any, node_id: Any = None, request_timeout_ms: int | None = None) -> Any:
        soon = isinstance(request, HeartbeatRequest | FindCoordinatorRequest)
        return send(request, node_id=node_id, request_timeout_ms=milliseconds if soon else request_timeout_ms)

    manager.send = send_in_time
    manager.config["socket_connection_setup_timeout_ms"] = milliseconds


def partition_counts_of(consumer: KafkaConsumer) -> dict[str, int]:
    """Return how many partitions each subscribed topic has, as this member sees it now."""
    return partition_counts(consumer._cluster, consumer.subscription() or ())  # noqa: SLF001


def metadata_number(consumer: KafkaConsumer) -> int:
    """Return a number that changes with each answer about topics."""
    return int(consumer._cluster._last_successful_refresh_ms)  # noqa: SLF001


def ask_for_metadata(consumer: KafkaConsumer) -> None:
    """Ask for the metadata of the subscribed topics now, without waiting."""
    consumer._cluster.request_update()  # noqa: SLF001


def join_again(consumer: KafkaConsumer) -> None:
    """Let the next poll join the group again."""
    consumer._coordinator.request_rejoin()  # noqa: SLF001


async def pause(consumer: KafkaConsumer, seconds: float) -> None:
    """Sleep inside a rebalance listener: there is no public way to do that on the library's own event loop."""
    await consumer._net.sleep(seconds)  # noqa: SLF001


def read_fenced(
    consumer: KafkaConsumer, partitions: Iterable[TopicPartition], timeout_seconds: float
) -> dict[TopicPartition, OffsetAndMetadata]:
    """Read committed offsets from this session's coordinator, and have our membership confirmed by it afterwards.

    kafka-python's own ways ask whoever was the coordinator once (admin client), or do not tell who has answered
    (``committed``). Partitions without an offset are missing from the result. group/register.py says why it is so.

    Raises UnfencedError, KafkaError.
    """
    coordinator = consumer._coordinator  # noqa: SLF001
    asked = list(partitions)

    async def read() -> dict[TopicPartition, OffsetAndMetadata]:
        node, generation = coordinator.coordinator(), coordinator.generation_if_stable()
        if node is None or generation is None:
            raise UnfencedError("no coordinator is known, or this member is joining the group")
        found: dict[TopicPartition, OffsetAndMetadata] = await coordinator._send_offset_fetch_request(asked)  # noqa: SLF001
        if coordinator.coordinator() == node:
            with contextlib.suppress(RebalanceInProgressError):  # one begins: the generation is still the present one
                await coordinator._send_heartbeat_request()  # noqa: SLF001
        now = coordinator.generation_if_stable()
        if coordinator.coordinator() != node or now is None or now != generation:
            raise UnfencedError("the coordinator or the group's generation has changed meanwhile")
        return found

    manager = consumer._manager  # noqa: SLF001
    result: dict[TopicPartition, OffsetAndMetadata] = consumer._net.run(  # noqa: SLF001
        manager.wait_for, manager.call_soon(read), int(timeout_seconds * 1000)
    )
    return result
