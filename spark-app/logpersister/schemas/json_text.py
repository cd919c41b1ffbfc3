"""Reads JSON, and tells where it is none."""

import json
from typing import Any


def read_json(text: str, problem: type[ValueError]) -> Any:
    """Parse JSON. Raises `problem` with line and column."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        told = error.msg[:1].lower() + error.msg[1:]
        raise problem(f"it is no JSON: {told} at line {error.lineno}, column {error.colno}") from None
    except (ValueError, RecursionError):
        raise problem("it is no JSON") from None
