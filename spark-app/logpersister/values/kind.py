"""What the blocks of all kinds of values have in common."""

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Field

from logpersister.forms.constraint import Model
from logpersister.forms.problems import Finding
from logpersister.values.field import DocumentFieldSpec, FieldSpec

MOST_FIELDS = 256

Fields = Annotated[tuple[FieldSpec, ...], Field(min_length=1, max_length=MOST_FIELDS)]
DocumentFields = Annotated[tuple[DocumentFieldSpec, ...], Field(min_length=1, max_length=MOST_FIELDS)]


def both_declare(schema: str) -> Finding:
    """Return what is wrong where the columns are declared twice."""
    return Finding("declares columns, and so does fields", "remove one of them", (schema,))


def chosen(block: Model, kinds: Sequence[str]) -> tuple[str, Any] | None:
    """Return which of the kinds is set, and its block; None: none is."""
    found = ((name, getattr(block, _attribute(name))) for name in kinds)
    return next((one for one in found if one[1] is not None), None)


def is_by_writer(block: Model) -> bool:
    """Whether the only schema of a block is that of its `writer`."""
    return getattr(block, "read_schema", None) is None and getattr(block, "writer", None) is not None


def _attribute(name: str) -> str:
    return "json_" if name == "json" else name
