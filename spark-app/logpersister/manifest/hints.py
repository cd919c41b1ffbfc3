"""What to do about values of a wrong kind, where the rest of the manifest says it better than the kind. Pure."""

import re
from collections.abc import Sequence
from typing import Any, Final

from logpersister.manifest.output import COMPRESSIONS
from logpersister.manifest.problems import PathStep
from logpersister.manifest.types import NAME

_SCHEMAS: Final = frozenset({"avro", "protobuf", "idl", "jsonSchema"})
_PATH: Final = re.compile(rf"{NAME}(\.{NAME})*")
_LEVELS: Final = {
    **{span: f"{{date: {{granularity: {span}}}}}" for span in ("year", "month", "day", "hour", "minute")},
    "date": "{date: {granularity: day}}",
    "offset": "{offset: {every: 1000000}}",
}
"""What people may mean by a level that is one word, and is no field."""


def remedy_of(kind: str, steps: Sequence[PathStep], value: Any, document: Any) -> str | None:
    """Return what to do; None: nothing is known beside the kind.

    Args:
        kind: pydantic's type of the error.
        steps: where it is.
        value: what is there.
        document: the whole manifest.
    """
    match steps:
        case (*_, "output", "compression") if kind == "literal_error":
            output = _at(document, steps[:-1])
            format_ = output.get("format", "text") if isinstance(output, dict) else None
            possible = COMPRESSIONS.get(format_, ()) if isinstance(format_, str) else ()
            return f"write one of: {', '.join(possible)}" if possible else None
        case (*_, "partitionBy", int()) if kind.startswith("model_") and isinstance(value, str):
            if value in _LEVELS:
                return f"write {_LEVELS[value]}"
            return f"write {{field: {value}}}" if _PATH.fullmatch(value) else None
        case (*_, str(name)) if name in _SCHEMAS and kind == "string_type" and isinstance(value, dict | list):
            return f"write it as text, which begins with {name}: |"
        case (*_, "writers", int()) if kind == "string_type" and isinstance(value, dict):
            return "write it as text, which begins with - |"
    return None


def _at(document: Any, steps: Sequence[PathStep]) -> Any:
    for step in steps:
        try:
            document = document[step]
        except (LookupError, TypeError):
            return None
    return document
