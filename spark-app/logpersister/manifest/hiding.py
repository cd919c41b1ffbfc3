"""What of a value is not stored as it is: fields that are hashed, masked or left out."""

from typing import Annotated

from pydantic import Field

from logpersister.manifest.constraint import Model, SecretName, Text, Unique, Whole
from logpersister.manifest.types import NAME

FieldPath = Annotated[
    str,
    Text(
        rf"^{NAME}(\.{NAME})*$",
        "is not a field, or one in a struct",
        "write for example email or user.email",
        512,
    ),
]
FieldPaths = Annotated[tuple[FieldPath, ...], Field(min_length=1, max_length=100), Unique()]


class HashSpec(Model):
    """Fields of which a keyed hash is stored."""

    fields: FieldPaths
    """Fields of type `string`; `user.email` is one in a struct. Stored is HMAC-SHA-256 in 64 hexadecimal digits: equal
    texts have equal hashes, so that they can be counted and joined, and folders by them."""

    secret_name: SecretName
    """Secret whose `key` is the key, at least 16 characters of text. Whoever has it can test whether a hash is that of
    a text. Another key is another Secret with another name, and a higher `generation` for readers that join."""


class MaskSpec(Model):
    """Fields of which no more than the end is stored."""

    fields: FieldPaths
    """Fields of type `string`; `user.phone` is one in a struct."""

    keep_last: Annotated[int, Whole(0, 16)] = 0
    """Characters that are kept behind `***`, of texts that have at least twice as many."""
