"""Facts as JSON documents: names in camelCase, times in RFC 3339, partitions as topic and number. Pure."""

from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime
from typing import Any

from pydantic.alias_generators import to_camel

from logpersister.ranges import Range, TopicPartition
from logpersister.report.human import instant

Document = dict[str, Any]


def document(fact: Any, *without: str) -> Document:
    """Return a dataclass as a document, without the named fields."""
    found: Document = {}
    for field in fields(fact):
        value = getattr(fact, field.name)
        if field.name in without:
            continue
        if isinstance(value, TopicPartition | Range):
            found |= plain(value)
        else:
            found[to_camel(field.name)] = plain(value)
    return found


def plain(value: Any) -> Any:
    """Return a value as JSON has it."""
    match value:
        case TopicPartition(topic, partition):
            return {"topic": topic, "partition": partition}
        case datetime():
            return rfc3339(value)
        case Mapping():
            return {key: plain(one) for key, one in value.items()}
        case list() | tuple():
            return [plain(one) for one in value]
        case None | bool() | int() | float() | str():
            return value
        case _:
            return document(value)


def rfc3339(time: datetime | None) -> str | None:
    """``2026-11-21T12:00:00.123Z``, or None for None."""
    return None if time is None else instant(time, "milliseconds")
