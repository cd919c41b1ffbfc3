"""``spec.value`` and ``spec.key`` as tests write them, compiled."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from logpersister.values.key import KeySpec
from logpersister.values.row_schema import RowSchema
from logpersister.values.value import ValueSpec


def columns_of(value: Mapping[str, Any], key: Mapping[str, Any] | None = None) -> RowSchema:
    """Return the columns that values become, with that of keys."""
    schema = ValueSpec.model_validate(value).row_schema
    assert schema is not None
    if key is None:
        return schema
    return replace(schema, key=KeySpec.model_validate(key).beside(schema.registry).compiled)
