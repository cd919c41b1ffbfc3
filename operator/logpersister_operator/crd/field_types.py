"""Types of fields that several sections of a status have."""

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

Count = Annotated[int, Field(ge=0)]
Offset = Annotated[int, Field(ge=0)]
Message = Annotated[str, Field(max_length=4096)]
Revision = Annotated[str, Field(max_length=64)]


@dataclass(frozen=True, slots=True)
class MapBy:
    """A list with a key field, so that each writer owns its own entries."""

    key: str

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return handler(source)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return handler(schema) | {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [self.key]}
