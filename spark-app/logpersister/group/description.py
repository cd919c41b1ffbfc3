"""The consumer group as its coordinator describes it: state and members."""

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from kafka import KafkaAdminClient
from kafka.errors import GroupIdNotFoundError, KafkaError, for_code

from logpersister.group.answers import GroupDescription, GroupMember
from logpersister.ranges import TopicPartition


def describe(admin: KafkaAdminClient, group_id: str) -> GroupDescription:
    """Ask the group's coordinator once; raises KafkaError."""
    return described(admin.describe_groups([group_id])[group_id], group_id)


def described(found: Mapping[str, Any], group_id: str) -> GroupDescription:
    """Read what the admin client returns for one group; raises KafkaError."""
    error = error_of(found["error"])
    if error is not None and error is not GroupIdNotFoundError:
        raise error(f"group {group_id}")
    clients = Counter(member["client_id"] for member in found["members"])
    described = (_member(member, unique=clients[member["client_id"]] == 1) for member in found["members"])
    members = sorted(described, key=lambda member: member.name)
    type_, assignor = found.get("protocol_type"), found.get("protocol_data")
    # Kafka names the assignor of a stable group only, and consumers without one may be ours.
    protocol = "" if type_ == "consumer" and not assignor else ": ".join(filter(None, (type_, assignor)))
    return GroupDescription(found["group_state"] or "Dead", tuple(members), protocol)


def error_of(text: str | None) -> type[KafkaError] | None:
    """Return the class of the error of one group, which the admin client gives as text: ``[Error 14] …``."""
    if not text:
        return None
    code = re.match(r"\[Error (-?\d+)\]", text)
    found: type[KafkaError] = KafkaError if code is None else for_code(int(code.group(1)))
    return found


def _member(member: Mapping[str, Any], *, unique: bool) -> GroupMember:
    """Read one member; `unique` says whether no other member has the same client id."""
    assignment = member.get("member_assignment")
    topics = assignment["assigned_partitions"] if isinstance(assignment, Mapping) else ()
    assigned = frozenset(TopicPartition(topic["topic"], number) for topic in topics for number in topic["partitions"])
    own_name = member.get("group_instance_id")
    # The id that the coordinator gives is the client id with a random end, by which nobody knows the member.
    name = own_name or (member["client_id"] if unique else "") or member["member_id"]
    host = member["client_host"].lstrip("/")
    return GroupMember(name, host, len(assigned), is_static=own_name is not None, assignment=assigned)
