"""The columns of a type, with one of what stands around its values: the header of frames, or the whole message."""

from typing import Any

from logpersister.manifest.declared_columns import Column
from logpersister.manifest.row_schema import SchemaSpec


class HeadedSchema(SchemaSpec):
    """A schema with one more column. No manifest has it: ``spec.types`` says for all types which column that is."""

    head: Any
    """A `Column`, the last one."""

    @classmethod
    def of(cls, schema: SchemaSpec, head: Column) -> "HeadedSchema":
        """Return a schema with a column; both were read, so there is nothing left to check."""
        found = cls.model_construct(_fields_set=schema.model_fields_set, **dict(schema), head=head)
        return found if schema.rest is None else found.with_rest(schema.rest.name)

    @property
    def columns(self) -> tuple[Column, ...]:
        return (*super().columns, self.head)

    @property
    def bare(self) -> SchemaSpec:
        """The schema without this column."""
        found = {name: value for name, value in self if name != "head"}
        bare = SchemaSpec.model_construct(_fields_set=self.model_fields_set, **found)
        return bare if self.rest is None else bare.with_rest(self.rest.name)

    @property
    def without_key(self) -> SchemaSpec:
        return self.bare.without_key
