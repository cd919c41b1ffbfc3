"""The columns of a type, with those that ``spec.types`` adds: what stands around values, and numbers of frames."""

from collections.abc import Mapping
from typing import Any

from logpersister.manifest.column import Column
from logpersister.manifest.row_schema import SchemaSpec


class HeadedSchema(SchemaSpec):
    """A schema with more columns. No manifest has it: ``spec.types`` says for all types which columns these are."""

    head: Any
    """A `Column` of the header of frames, or of the whole message; None: there is none."""
    numbers: Any
    """`Column`s of numbers of frames, by which number it is. They are the last ones."""

    @classmethod
    def of(cls, schema: SchemaSpec, head: Column | None, numbers: Mapping[str, Column]) -> "HeadedSchema":
        """Return a schema with columns; all were read, so there is nothing left to check."""
        found = cls.model_construct(_fields_set=schema.model_fields_set, **dict(schema), head=head, numbers=numbers)
        return found if schema.rest is None else found.with_rest(schema.rest.name)

    @property
    def added(self) -> tuple[Column, ...]:
        """The columns that ``spec.types`` adds."""
        return (*([] if self.head is None else [self.head]), *self.numbers.values())

    @property
    def columns(self) -> tuple[Column, ...]:
        return (*super().columns, *self.added)

    @property
    def bare(self) -> SchemaSpec:
        """The schema without these columns."""
        found = {name: value for name, value in self if name not in ("head", "numbers")}
        bare = SchemaSpec.model_construct(_fields_set=self.model_fields_set, **found)
        return bare if self.rest is None else bare.with_rest(self.rest.name)

    @property
    def without_key(self) -> SchemaSpec:
        return self.bare.without_key
