"""The consumer group as its coordinator describes it, asked with a deadline."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from kafka import KafkaAdminClient

from logpersister.cli.brokers import patiently
from logpersister.group.answers import GroupDescription
from logpersister.group.description import describe

NEW: Final = "new"
"""State of a group that nobody has joined yet, and that has committed nothing."""


def describe_group(config: Mapping[str, Any], group_id: str, seconds: float) -> GroupDescription:
    """Ask the group's coordinator. Raises `UnreachableError` when it does not tell."""

    def ask() -> GroupDescription:
        with KafkaAdminClient(**config) as admin:
            found = describe(admin, group_id)
            if found.state != "Dead":
                return found
            # Kafka says "Dead" of a group that it does not know. An operator would look for what has died.
            return _of_another_type(admin, group_id) or replace(found, state=NEW)

    return patiently(f"group {group_id} cannot be described", seconds, ask)


def _of_another_type(admin: KafkaAdminClient, group_id: str) -> GroupDescription | None:
    """Return a group that the classic protocol does not know: of KIP-848, a share group, or one of Kafka Streams."""
    for one in admin.list_groups():
        if one["group_id"] == group_id and one.get("group_type") not in (None, "", "classic"):
            return GroupDescription(one["group_state"], (), f"the protocol of {one['group_type']} groups")
    return None
