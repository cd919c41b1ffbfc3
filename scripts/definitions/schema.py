"""The JSON schema of the resource, for the CRD and for the reference of the manifest."""

from datetime import timedelta
from typing import Any

from pydantic import BaseModel
from pydantic.alias_generators import to_camel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from definitions.descriptions import field_descriptions, field_docstrings
from logpersister.forms.constraint import BOUNDS
from logpersister.forms.quantity import PERCENT_PATTERN, format_duration, format_percent, format_size
from logpersister.manifest.resource import LogPersister


class _Generator(GenerateJsonSchema):
    """Writes defaults as a manifest would: ``256Mi``, ``15m`` and ``20%``. Docstrings of fields describe them."""

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        result = super().model_schema(schema)
        for name, description in field_descriptions(schema["cls"]).items():
            result["properties"][name]["description"] = description
        return result

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> JsonSchemaValue:
        result = super().dataclass_schema(schema)
        for name, description in field_docstrings(schema["cls"]).items():
            if description is not None:
                result["properties"][to_camel(name)]["description"] = description
        return result

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        result = super().default_schema(schema)
        default = schema.get("default")
        if isinstance(default, timedelta):
            result["default"] = format_duration(default)
        elif isinstance(default, int) and result.get("x-kubernetes-int-or-string"):
            result["default"] = format_size(default)
        elif isinstance(default, int) and result.get("pattern") == PERCENT_PATTERN:
            result["default"] = format_percent(default)
        elif isinstance(default, tuple):
            result["default"] = list(default)
        elif default is None:
            result.pop("default", None)
        return result


def json_schema(model: type[BaseModel] = LogPersister, *, with_bounds: bool = False) -> dict[str, Any]:
    """Return the schema (draft 2020-12, with Kubernetes' extensions) of what `load` accepts.

    Bounds of sizes and durations have no words in it; ``with_bounds`` adds them as `BOUNDS`, for people.
    """
    schema = model.model_json_schema(by_alias=True, schema_generator=_Generator)
    return schema if with_bounds else _without_bounds(schema)


def _without_bounds(schema: Any) -> Any:
    if isinstance(schema, dict):
        return {key: _without_bounds(value) for key, value in schema.items() if key != BOUNDS}
    if isinstance(schema, list):
        return [_without_bounds(entry) for entry in schema]
    return schema
