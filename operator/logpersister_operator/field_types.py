"""Types of fields that several sections of a status have, and how a dataclass is such a section."""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final

from pydantic import ConfigDict, Field, GetCoreSchemaHandler, GetJsonSchemaHandler, PlainSerializer
from pydantic.alias_generators import to_camel
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

Count = Annotated[int, Field(ge=0)]
Offset = Annotated[int, Field(ge=0)]
Message = Annotated[str, Field(max_length=4096)]
Revision = Annotated[str, Field(max_length=64)]
LONGEST_CAUSE: Final = 1024


def shortened(text: str) -> str:
    """Return a cause or message that the status has room for."""
    return text if len(text) <= LONGEST_CAUSE else text[: LONGEST_CAUSE - 1] + "…"


Cause = Annotated[str, Field(max_length=LONGEST_CAUSE), PlainSerializer(shortened)]


class InStatus:
    """Base of dataclasses that are sections of a status as they are: camelCase there, fields of newer versions ignored.

    A field's docstring is its description in the CRD.
    """

    __slots__ = ()
    __pydantic_config__: ClassVar[ConfigDict] = {
        "alias_generator": to_camel,
        "validate_by_alias": True,
        "validate_by_name": True,
        "serialize_by_alias": True,
        "hide_input_in_errors": True,
    }


@dataclass(frozen=True, slots=True)
class MapBy:
    """A list with a key field, so that each writer owns its own entries."""

    key: str

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return handler(source)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return handler(schema) | {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [self.key]}
