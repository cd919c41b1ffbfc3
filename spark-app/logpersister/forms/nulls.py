"""Fields that are null. Kubernetes drops them, so each has its default; where ``null`` is also a word, that is told."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from logpersister.forms.problems import PathStep

EXPECTATION = "is null, which stands for the default"
REMEDY = 'write the text in quotes ("null", or "" for none), or remove the field'


@dataclass(frozen=True, slots=True)
class NullMisleads:
    """Marks a field where null without quotes may be meant as a text, or as none."""


def without_nulls(value: Any, model: type[BaseModel] | None) -> Any:
    """Drop fields that are null: Kubernetes does the same, so a field set to nothing has its default.

    ``model`` is what the value should be, None for a map. An unknown field stays, to be told; so does what is below a
    field that may hold anything, where null has a meaning of its own.
    """
    if isinstance(value, list):
        return [without_nulls(entry, model) for entry in value]
    if not isinstance(value, dict):
        return value
    kept: dict[Any, Any] = {}
    for key, entry in value.items():
        field = None if model is None else field_at(model, key)
        if entry is None:
            if model is not None and field is None:
                kept[key] = None
        elif field is None or _is_anything(field):
            kept[key] = entry
        else:
            kept[key] = without_nulls(entry, next(models_in(field.annotation), None))
    return kept


def misleading_nulls(
    value: Any, model: type[BaseModel], steps: tuple[PathStep, ...] = ()
) -> Iterator[tuple[PathStep, ...]]:
    """Yield the places of fields that are null where somebody may have meant a word of that name, or no text."""
    if isinstance(value, list):
        for place, entry in enumerate(value):
            yield from misleading_nulls(entry, model, (*steps, place))
    if not isinstance(value, dict):
        return
    for key, entry in value.items():
        field = field_at(model, key)
        if field is None or _is_anything(field):
            continue
        below = next(models_in(field.annotation), None)
        if entry is None and _misleads(field):
            yield (*steps, key)
        elif below is not None:
            yield from misleading_nulls(entry, below, (*steps, key))


def field_at(model: type[BaseModel], step: object) -> FieldInfo | None:
    """Return the field of a model that has a name in YAML."""
    return next((field for name, field in model.model_fields.items() if step in (name, field.alias)), None)


def models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    """Yield the models that an annotation such as ``tuple[PartitionRule, ...] | None`` is about."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel) and get_origin(annotation) is None:
        yield annotation
    for argument in get_args(annotation):
        yield from models_in(argument)


def _is_anything(field: FieldInfo) -> bool:
    return Any in get_args(field.annotation)


def _misleads(field: FieldInfo) -> bool:
    is_word = get_origin(field.annotation) is Literal and "null" in get_args(field.annotation)
    return is_word or NullMisleads() in field.metadata
