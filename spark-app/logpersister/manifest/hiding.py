"""Settings of hidden fields: hashed, masked or left out."""

from typing import Annotated

from pydantic import Field

from logpersister.manifest.constraint import Model, SecretName, Text, Unique, Whole
from logpersister.manifest.types import FIELD_PATH

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
    """Fields of type `string` or of whole numbers, such as `user.email`. They are stored as HMAC-SHA-256 in 64
    hexadecimal digits; equal values have equal hashes.
    """

    secret_name: SecretName
    """Secret whose `key` is the key of the hash: text of at least 16 characters. To change the key, name another
    Secret.
    """


class MaskSpec(Model):
    """Fields of which no more than the end is stored."""

    fields: FieldPaths
    """Fields of type `string`, such as `user.phone` in a struct."""

    keep_last: Annotated[int, Whole(0, 16)] = 0
    """Characters at the end that are kept behind `***`. Texts shorter than twice this number become `***`."""
