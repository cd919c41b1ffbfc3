"""Reads JSON, and tells where it is none."""

import json
from typing import Any

from logpersister.schemas.errors import SchemaTextError


def read_json(text: str) -> Any:
    """Parse JSON. Raises `SchemaTextError` with line and column."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        told = error.msg[:1].lower() + error.msg[1:]
        raise SchemaTextError(f"it is no JSON: {told} at line {error.lineno}, column {error.colno}") from None
    except (ValueError, RecursionError):
        raise SchemaTextError("it is no JSON") from None
