"""A part of the manifest as JSON values, without what equals its default.

What stays is what a user had to say. So a field that a later version adds changes nothing of resources that do not use
it: neither the hash of their revision nor the manifest that their members read, which an older member would refuse. The
price: a default must never change (tests/unit/manifest/golden/revisions has them all).
"""

from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo


def sparse(model: BaseModel) -> dict[str, Any]:
    """Return the fields that differ from their defaults, at every depth; None is never told."""
    document: dict[str, Any] = model.model_dump(mode="json", by_alias=True, exclude_none=True)
    _prune(model, document)
    return document


def _prune(model: BaseModel, document: dict[str, Any]) -> None:
    values = dict(model)
    for name, field in type(model).model_fields.items():
        key = field.serialization_alias or field.alias or name
        if key not in document:
            continue
        if not field.is_required() and values[name] == _default(field, values):
            del document[key]
        else:
            _prune_value(values[name], document[key])


def _prune_value(value: object, told: object) -> None:
    if isinstance(value, BaseModel) and isinstance(told, dict):
        _prune(value, told)
    elif isinstance(value, tuple | list) and isinstance(told, list):
        for one, its in zip(value, told, strict=True):
            _prune_value(one, its)


def _default(field: FieldInfo, values: dict[str, Any]) -> object:
    """Return the default, which may depend on other fields. It is only compared, so it is not copied."""
    if field.default_factory is None:
        return field.default
    return field.get_default(call_default_factory=True, validated_data=values)
