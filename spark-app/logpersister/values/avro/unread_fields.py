"""Fields that writers have and nobody reads: with ``fields`` a new one would be left out in silence."""

import json
from collections.abc import Collection
from functools import lru_cache
from typing import Any

import structlog

log = structlog.get_logger(__name__)
_MOST_NAMED = 20


def unread_fields(text: str, read: Collection[str]) -> tuple[str, ...]:
    """Return the fields of the record of an Avro schema that are none of those that are read."""
    found: Any = json.loads(text)
    fields = found.get("fields", ()) if isinstance(found, dict) else ()
    return tuple(str(one["name"]) for one in fields if one["name"] not in read)


@lru_cache(maxsize=4096)
def tell(schema: str, fields: tuple[str, ...]) -> None:
    """Say which fields of a schema have no column; once in a process."""
    if fields:
        log.info("schema.fields.unread", schema=schema, fields=list(fields[:_MOST_NAMED]), count=len(fields))
