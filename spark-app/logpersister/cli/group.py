"""The consumer group as its coordinator describes it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kafka import KafkaAdminClient
from kafka.errors import KafkaError

from logpersister.cli.exits import UnreachableError


@dataclass(frozen=True, slots=True)
class GroupMember:
    """One member of the group."""

    name: str
    """Its static name, or the id that the group gave it."""
    host: str
    partitions: int


@dataclass(frozen=True, slots=True)
class GroupDescription:
    """State of the group, and who is in it."""

    state: str
    """Kafka's word: ``Stable``, ``Empty``, ``PreparingRebalance``, ``CompletingRebalance``; ``Dead``: no such group."""
    members: tuple[GroupMember, ...]


def describe_group(config: Mapping[str, Any], group_id: str) -> GroupDescription:
    """Ask the group's coordinator. Raises `UnreachableError` when it does not tell."""
    admin = None
    try:
        admin = KafkaAdminClient(**config)
        found = admin.describe_groups([group_id])[group_id]
    except KafkaError as error:
        raise UnreachableError(f"group {group_id}: cannot be described ({error})") from error
    finally:
        if admin is not None:
            admin.close()
    if not found["members"] and found["group_state"] == "Dead":
        return GroupDescription("Dead", ())
    if found["error"]:
        raise UnreachableError(f"group {group_id}: cannot be described ({found['error']})")
    return GroupDescription(
        found["group_state"], tuple(sorted(map(_member, found["members"]), key=lambda one: one.name))
    )


def _member(member: Mapping[str, Any]) -> GroupMember:
    assignment = member.get("member_assignment")
    topics = assignment["assigned_partitions"] if isinstance(assignment, Mapping) else ()
    partitions = sum(len(topic["partitions"]) for topic in topics)
    return GroupMember(
        member.get("group_instance_id") or member["member_id"], member["client_host"].lstrip("/"), partitions
    )
