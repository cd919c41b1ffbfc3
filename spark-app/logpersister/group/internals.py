"""Every use of what kafka-python keeps private, each with the reason.

Written against kafka-python 3.0.12; to be looked at again with each new version.
"""

import contextlib
from typing import Any

from kafka import KafkaConsumer
from kafka.util import WeakMethod


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


async def pause(consumer: KafkaConsumer, seconds: float) -> None:
    """Sleep inside a rebalance listener: there is no public way to do that on the library's own event loop."""
    await consumer._net.sleep(seconds)  # noqa: SLF001
