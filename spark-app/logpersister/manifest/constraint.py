"""Types of fields: text of a certain form, sizes and durations within bounds.

Each is one annotation that validates (with errors that say what to do) and that gives the JSON schema of the CRD.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.alias_generators import to_camel
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from logpersister.manifest.problems import refuse
from logpersister.manifest.quantity import (
    DURATION_PATTERN,
    SIZE_PATTERN,
    format_duration,
    format_size,
    parse_duration,
    parse_size,
)

BOUNDS = "x-bounds"
"""Key of our schemas for bounds that JSON schema has no words for: ``6s to 30m``."""


class Model(BaseModel):
    """Base of all parts of the manifest: frozen, unknown fields refused, camelCase in YAML, snake_case in Python.

    A field's docstring is its description in the CRD and in docs/manifest.md.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        validate_by_alias=True,
        validate_by_name=True,
        serialize_by_alias=True,
        use_attribute_docstrings=True,
        hide_input_in_errors=True,
    )


@dataclass(frozen=True, slots=True)
class Text:
    """A string that matches ``pattern`` as a whole and is no longer than ``longest`` characters."""

    pattern: str
    """With ^ and $, as a JSON schema wants it."""
    expectation: str
    remedy: str
    longest: int = 253
    check: Callable[[str], None] | None = None
    """A further rule that no pattern can say; raises `RefusedError`."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self.validate, core_schema.str_schema(strict=True))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"type": "string", "pattern": self.pattern, "maxLength": self.longest}

    def validate(self, value: str) -> str:
        # \Z, since $ also matches before a newline at the end.
        if re.search(self.pattern.removesuffix("$") + r"\Z", value) is None:
            raise refuse(self.expectation, self.remedy)
        if len(value) > self.longest:
            raise refuse(f"is longer than {self.longest} characters", "shorten it")
        if self.check is not None:
            self.check(value)
        return value


@dataclass(frozen=True, slots=True)
class Size:
    """Bytes: an int in Python, a Kubernetes quantity in YAML; bounds are inclusive."""

    least: str
    most: str

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            self.validate,
            serialization=core_schema.plain_serializer_function_ser_schema(
                format_size, return_schema=core_schema.str_schema()
            ),
        )

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {
            "anyOf": [{"type": "integer"}, {"type": "string"}],
            "pattern": SIZE_PATTERN,
            "x-kubernetes-int-or-string": True,
            BOUNDS: f"{self.least} to {self.most}",
        }

    def validate(self, value: object) -> int:
        size = parse_size(value)
        if size < parse_size(self.least):
            raise refuse(f"is too small: at least {self.least} is expected", f"write {self.least} or more")
        if size > parse_size(self.most):
            raise refuse(f"is too large: at most {self.most} is expected", f"write {self.most} or less")
        return size


@dataclass(frozen=True, slots=True)
class Duration:
    """A span of time: a timedelta in Python, such as 15m in YAML; bounds are inclusive."""

    least: str
    most: str

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            self.validate,
            serialization=core_schema.plain_serializer_function_ser_schema(
                format_duration, return_schema=core_schema.str_schema()
            ),
        )

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"type": "string", "pattern": DURATION_PATTERN, BOUNDS: f"{self.least} to {self.most}"}

    def validate(self, value: object) -> timedelta:
        duration = value if isinstance(value, timedelta) else parse_duration(value)
        if duration < parse_duration(self.least):
            raise refuse(f"is too short: at least {self.least} is expected", f"write {self.least} or more")
        if duration > parse_duration(self.most):
            raise refuse(f"is too long: at most {self.most} is expected", f"write {self.most} or less")
        return duration


def _compiles(pattern: str) -> None:
    try:
        re.compile(pattern)
    except re.error as error:
        raise refuse(
            f"is not a regular expression: {error.msg}", "correct it (Python syntax, docs.python.org/library/re)"
        ) from None
    if re.search(r"\\[1-9]|\(\?P=", pattern):
        raise refuse("refers back to a group", "write the pattern without back references")
    if re.match(r"\(\?[a-zA-Z]+\)", pattern):
        raise refuse("has global flags", "limit them to a group: (?i:pattern)")


Regex = Annotated[
    str,
    Text(
        r"^[^\r\n]+$", "is empty or has a line break", 'write a regular expression such as "^web\\."', 1000, _compiles
    ),
]
SecretName = Annotated[
    str,
    Text(
        r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$",
        "is not the name of a Secret (lower-case letters, digits, - and .)",
        "name the Secret; its values do not belong in a manifest",
    ),
]
Integer = Annotated[int, Field(strict=True)]
Flag = Annotated[bool, Field(strict=True)]
String = Annotated[str, Field(strict=True)]
