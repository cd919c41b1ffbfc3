"""The consumer group as its coordinator describes it, asked with a deadline."""

from collections.abc import Mapping
from typing import Any

from kafka import KafkaAdminClient

from logpersister.cli.brokers import patiently
from logpersister.group.answers import GroupDescription
from logpersister.group.description import describe


def describe_group(config: Mapping[str, Any], group_id: str, seconds: float) -> GroupDescription:
    """Ask the group's coordinator. Raises `UnreachableError` when it does not tell."""

    def ask() -> GroupDescription:
        with KafkaAdminClient(**config) as admin:
            return describe(admin, group_id)

    return patiently(f"group {group_id} cannot be described", seconds, ask)
