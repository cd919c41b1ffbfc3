"""Settings of hidden fields: hashed, masked or left out."""

from typing import Annotated

from pydantic import Field

from logpersister.forms.constraint import Model, SecretName, Text, Unique, Whole
from logpersister.schemas.types import FIELD_PATH

FieldPath = Annotated[
    str,
    Text(
        FIELD_PATH,
        "is not a field, or one in a struct",
        "write for example email or user.email",
        512,
    ),
]
FieldPaths = Annotated[tuple[FieldPath, ...], Field(min_length=1, max_length=100), Unique()]


class HashSpec(Model):
    """Fields of which a keyed hash is stored."""

    fields: FieldPaths
    """Fields of type `string` or of whole numbers, such as `user.email`."""

    secret_name: SecretName
    """Secret whose `key` is the key of the hash: text of at least 16 characters."""


class MaskSpec(Model):
    """Fields of which no more than the end is stored."""

    fields: FieldPaths
    """Fields of type `string`, such as `user.phone` in a struct."""

    keep_last: Annotated[int, Whole(0, 16)] = 0
    """Characters at the end that are kept behind `***`."""
