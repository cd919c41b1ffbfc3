"""Types of fields: percentages, and some of all."""

from dataclasses import dataclass
from typing import Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from logpersister.forms.constraint import BOUNDS, matches, written_as_text
from logpersister.forms.problems import out_of_bounds, refuse
from logpersister.forms.quantity import (
    LONGEST_PERCENT,
    PERCENT_PATTERN,
    SHARE_PATTERN,
    Share,
    format_percent,
    format_share,
    parse_percent,
    parse_share,
)
from logpersister.forms.rule import VALIDATIONS, cel_literal


@dataclass(frozen=True, slots=True)
class Percent:
    """A percentage: an int in Python, such as 20% in YAML; from 0% to the most, inclusive."""

    most: str

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return written_as_text(self.validate, format_percent)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        # What is no percentage has been told so by the first rule.
        within = f"!self.matches({cel_literal(PERCENT_PATTERN)}) || int(self.replace('%', '')) <= {self.most[:-1]}"
        return {
            "type": "string",
            "pattern": PERCENT_PATTERN,
            "maxLength": LONGEST_PERCENT,
            BOUNDS: f"0% to {self.most}",
            VALIDATIONS: [
                matches("self", PERCENT_PATTERN, "is not a percentage; write for example 20%"),
                {"rule": within, "message": "; ".join(out_of_bounds("0%", self.most))},
            ],
        }

    def validate(self, value: object) -> int:
        percent = parse_percent(value)
        if percent > parse_percent(self.most):
            raise refuse(*out_of_bounds("0%", self.most))
        return percent


@dataclass(frozen=True, slots=True)
class SomeOf:
    """Some of all: a `Share` in Python, a number from 1 or a percentage in YAML; the bound is inclusive."""

    most: int

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return written_as_text(self.validate, format_share)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        fits = f"self.matches({cel_literal(SHARE_PATTERN)})"
        usual = "is neither a whole number nor a percentage from 1% to 100%; write for example 2 or 50%"
        return {
            "anyOf": [{"type": "integer"}, {"type": "string"}],
            "pattern": SHARE_PATTERN,
            "maxLength": LONGEST_PERCENT,
            "x-kubernetes-int-or-string": True,
            BOUNDS: f"1 to {self.most}, or 1% to 100%",
            VALIDATIONS: [
                {"rule": f"type(self) == int || (type(self) == string && {fits})", "message": usual},
                {
                    "rule": f"type(self) != int || self >= 1 && self <= {self.most}",
                    "message": "; ".join(out_of_bounds(1, self.most)),
                },
            ],
        }

    def validate(self, value: object) -> Share:
        share = parse_share(value)
        if not 1 <= share.number <= self.most:
            raise refuse(*out_of_bounds(1, self.most))
        return share
