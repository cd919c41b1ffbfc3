"""Types of fields: text of a certain form, sizes and durations within bounds.

Each is one annotation that validates (with errors that say what to do) and that gives the JSON schema of the CRD.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Any, Self, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    model_validator,
)
from pydantic.alias_generators import to_camel
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from logpersister.forms.problems import out_of_bounds, refuse, refuse_all
from logpersister.forms.quantity import (
    DURATION_PATTERN,
    LONGEST_DURATION,
    LONGEST_SIZE,
    SIZE_PATTERN,
    format_duration,
    format_size,
    parse_duration,
    parse_size,
)
from logpersister.forms.rule import VALIDATIONS, Rule, cel_literal, rules_of, validations_of

Value = TypeVar("Value")

BOUNDS = "x-bounds"
"""Key of our schemas for bounds that JSON schema has no words for: ``6s to 30m``."""


class Model(BaseModel):
    """Base of all parts of the manifest: frozen, unknown fields refused, camelCase in YAML, snake_case in Python.

    A field's docstring is its description in the CRD and in docs/manifest.md (scripts/definitions/descriptions.py).
    """

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        validate_by_alias=True,
        validate_by_name=True,
        serialize_by_alias=True,
        hide_input_in_errors=True,
        ignored_types=(Rule,),
    )

    @model_validator(mode="after")
    def _rules_hold(self) -> Self:
        rules = [declared for declared in rules_of(type(self)) if not declared.is_change]
        refuse_all([finding for declared in rules for finding in declared.findings(self)])
        return self

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        found = handler(schema)
        if validations := validations_of(cls):
            handler.resolve_ref_schema(found)[VALIDATIONS] = validations
        return found


Check = Callable[[str], object]
"""A further rule on a text: raises `RefusedError` for one that is refused."""


def matches(text: str, pattern: str, message: str) -> dict[str, str]:
    """Say in words what the schema's ``pattern`` says to programs. The definition has the rule in its place."""
    return {"rule": f"{text}.matches({cel_literal(pattern)})", "message": message}


def must(holds: Callable[[str], bool], expectation: str, remedy: str) -> Check:
    """Refuse a text for which something does not hold."""

    def check(text: str) -> None:
        if not holds(text):
            raise refuse(expectation, remedy)

    return check


def never(pattern: str, expectation: str, remedy: str) -> Check:
    """Refuse a text in which a pattern is found."""
    found = compiled(pattern)
    return must(lambda text: found.search(text) is None, expectation, remedy)


def compiled(pattern: str) -> re.Pattern[str]:
    r"""Compile a pattern so that it means the same here and in RE2, which the API server and CEL use.

    Classes such as ``\d`` are ASCII, and ``$`` is only the end, not what is before a line break there.
    """
    return re.compile(re.sub(r"(?<!\\)\$", r"\\Z", pattern), re.ASCII)


@dataclass(frozen=True, slots=True)
class Text:
    """A string that matches ``pattern`` as a whole and is no longer than ``longest`` characters."""

    pattern: str
    """Regular expression with ^ and $, as a JSON schema wants it."""
    expectation: str
    remedy: str
    longest: int = 253
    before: tuple[Check, ...] = ()
    """Checked before the pattern: they know better what is wrong."""
    conditions: tuple[Check, ...] = ()
    """Checked after the pattern."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self.validate, core_schema.str_schema(strict=True))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {
            "type": "string",
            "pattern": self.pattern,
            "maxLength": self.longest,
            VALIDATIONS: [matches("self", self.pattern, f"{self.expectation}; {self.remedy}")],
        }

    def validate(self, value: str) -> str:
        self._check(self.before, value)
        if compiled(self.pattern).search(value) is None:
            raise refuse(self.expectation, self.remedy)
        if len(value) > self.longest:
            raise refuse(f"is longer than {self.longest} characters", "shorten it")
        self._check(self.conditions, value)
        return value

    @staticmethod
    def _check(checks: tuple[Check, ...], value: str) -> None:
        for check in checks:
            check(value)


@dataclass(frozen=True, slots=True)
class Unique:
    """A list without repetitions."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self.validate, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return handler(schema) | {"x-kubernetes-list-type": "set"}

    def validate(self, value: tuple[str, ...]) -> tuple[str, ...]:
        for entry in value:
            if value.count(entry) > 1:
                raise refuse(f'with "{entry}" twice', "remove the repetition")
        return value


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole number; bounds are inclusive."""

    least: int
    most: int

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self.validate, core_schema.int_schema(strict=True))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        # The rule repeats the bounds in words. It also refuses 2.0, which a schema alone takes for an integer and rules
        # elsewhere do not.
        within = {"rule": f"self >= {self.least} && self <= {self.most}", "message": self._message}
        return handler(schema) | {"minimum": self.least, "maximum": self.most, VALIDATIONS: [within]}

    @property
    def _message(self) -> str:
        return "; ".join(out_of_bounds(self.least, self.most))

    def validate(self, value: int) -> int:
        if not self.least <= value <= self.most:
            raise refuse(*out_of_bounds(self.least, self.most))
        return value


def written_as_text(parse: Callable[[object], Value], text_of: Callable[[Value], object]) -> CoreSchema:
    """Return the schema of what is an object of its own in Python, and a text in YAML."""
    return core_schema.no_info_plain_validator_function(
        parse, serialization=core_schema.plain_serializer_function_ser_schema(text_of)
    )


@dataclass(frozen=True, slots=True)
class Size:
    """Bytes: an int in Python, a Kubernetes quantity in YAML; bounds are inclusive."""

    least: str
    most: str

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return written_as_text(self.validate, format_size)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {
            "anyOf": [{"type": "integer"}, {"type": "string"}],
            "pattern": SIZE_PATTERN,
            "maxLength": LONGEST_SIZE,
            "x-kubernetes-int-or-string": True,
            BOUNDS: f"{self.least} to {self.most}",
            VALIDATIONS: [
                {
                    "rule": f"string(self).matches({cel_literal(SIZE_PATTERN)}) && {self._within}",
                    "message": f"is not a size within {self.least} to {self.most}; write for example 256Mi",
                }
            ],
        }

    @property
    def _within(self) -> str:
        compared = "quantity(string(self)).compareTo(quantity('{}'))".format
        return f"{compared(self.least)} >= 0 && {compared(self.most)} <= 0"

    def validate(self, value: object) -> int:
        size = parse_size(value)
        if not parse_size(self.least) <= size <= parse_size(self.most):
            raise refuse(*out_of_bounds(self.least, self.most))
        return size


def milliseconds(field: str) -> str:
    """Return the CEL of a duration as an integer. CEL's durations are those of Go, which has no days."""
    # Zeros make a number of no days, and a duration of nothing behind the days: 0, 0s, 1h0s.
    days = f"int('0' + {field}.find('^[0-9]+d').replace('d', '')) * 86400000"
    return f"{days} + duration({field}.find('[^d]*$') + '0s').getMilliseconds()"


@dataclass(frozen=True, slots=True)
class Duration:
    """A span of time: a timedelta in Python, such as 15m in YAML; bounds are inclusive."""

    least: str
    most: str

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return written_as_text(self.validate, format_duration)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {
            "type": "string",
            "minLength": 1,
            "maxLength": LONGEST_DURATION,
            "pattern": DURATION_PATTERN,
            BOUNDS: f"{self.least} to {self.most}",
            VALIDATIONS: [
                {
                    "rule": f"self.matches({cel_literal(DURATION_PATTERN)}) && {self._within}",
                    "message": f"is not a duration within {self.least} to {self.most}; write for example 15m or 1h30m",
                }
            ],
        }

    @property
    def _within(self) -> str:
        least, most = (parse_duration(bound) // timedelta(milliseconds=1) for bound in (self.least, self.most))
        return f"[{milliseconds('self')}].all(one, one >= {least} && one <= {most})"

    def validate(self, value: object) -> timedelta:
        duration = value if isinstance(value, timedelta) else parse_duration(value)
        if not parse_duration(self.least) <= duration <= parse_duration(self.most):
            raise refuse(*out_of_bounds(self.least, self.most))
        return duration


def _compiles(pattern: str) -> None:
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        reason = error.msg if isinstance(error, re.error) else error
        raise refuse(
            f"is not a regular expression: {reason}", "correct it (Python syntax, docs.python.org/library/re)"
        ) from None


Regex = Annotated[
    str,
    Text(
        r"^[^\r\n]+$",
        "is empty or has a line break",
        'write a regular expression such as "^web\\."',
        1000,
        conditions=(
            _compiles,
            never(r"\\[1-9]|\(\?P=", "refers back to a group", "write the pattern without back references"),
            never(r"^\(\?[a-zA-Z]+\)", "has global flags", "limit them to a group: (?i:pattern)"),
        ),
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
Flag = Annotated[bool, Field(strict=True)]
String = Annotated[str, Field(strict=True)]


HOST = r"([A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9.])?|\[[0-9A-Fa-f:.]+(%[A-Za-z0-9]+)?\])"
"""A name, an IPv4 address, or an IPv6 address in brackets."""

PORT = r"([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])"
"""Pattern of a port: 1 to 65535."""
