"""What the blocks of all kinds of values have in common."""

from collections.abc import Sequence
from typing import Annotated, Any, Self

from pydantic import Field

from logpersister.forms.constraint import Model
from logpersister.forms.problems import Finding
from logpersister.values.faults import WrittenFaultsSpec
from logpersister.values.field import DocumentFieldSpec, FieldSpec
from logpersister.values.parser import Parser, Parsing
from logpersister.values.registry import IdRegistrySpec, RegistrySpec

MOST_FIELDS = 256

Fields = Annotated[tuple[FieldSpec, ...], Field(min_length=1, max_length=MOST_FIELDS)]
DocumentFields = Annotated[tuple[DocumentFieldSpec, ...], Field(min_length=1, max_length=MOST_FIELDS)]


class RegisteredKey(Model):
    """Keys whose writers have schemas of their own."""

    registry: IdRegistrySpec | None = None
    """Schema registry whose ids stand before them. Default: that of values. Where there is none, or `writer` is set,
    they have no header.
    """

    def beside(self, registry: RegistrySpec | None) -> Self:
        """Return the block beside a registry that it takes for its own unless it says otherwise."""
        if registry is None or self.registry is not None or getattr(self, "writer", None) is not None:
            return self
        return self.model_copy(update={"registry": IdRegistrySpec.of(registry)})


class WrittenValue(Model):
    """Values of a kind whose schemas are not JSON, beside what its keys have."""

    faults: WrittenFaultsSpec = WrittenFaultsSpec()
    """What becomes of values that do not fit (docs/schemas.md#values-that-do-not-fit)."""


class RegisteredValue(WrittenValue):
    """Values whose writers have schemas of their own."""

    registry: IdRegistrySpec | None = None
    """Schema registry whose ids stand before values. Without `fields` and `schema` a version of the topic's subject
    declares the columns. Default: values have no header.
    """


def parsing(kind: Parser, block: Model, **more: Any) -> Parsing:
    """Return how values of a block are read, as its fields of that name and others say it."""
    settings = {name: value for name, value in block if name in Parsing.model_fields} | more
    if isinstance(faults := settings.get("faults"), WrittenFaultsSpec):
        settings["faults"] = faults.chosen
    return Parsing(type=kind, **settings)


def both_declare(schema: str) -> Finding:
    """Return what is wrong where the columns are declared twice."""
    return Finding("declares columns, and so does fields", "remove one of them", (schema,))


def chosen(block: Model, kinds: Sequence[str]) -> tuple[str, Any] | None:
    """Return which of the kinds is set, and its block; None: none is."""
    found = ((name, getattr(block, "json_" if name == "json" else name)) for name in kinds)
    return next((one for one in found if one[1] is not None), None)


def is_by_writer(block: Model) -> bool:
    """Whether the only schema of a block is that of its `writer`."""
    return getattr(block, "read_schema", None) is None and getattr(block, "writer", None) is not None
