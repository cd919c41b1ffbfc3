"""Contradictions between values, keys, the output and the conditions of a spec.

Each method of `RowRules` is one rule, and its name says what must hold; it returns what is wrong, with a remedy, at a
field of the spec.

A rule returns nothing where a registry declares the columns, which are unknown then (`asks_registry`): it is evaluated
again once the registry has answered. Likewise topics with types: it is evaluated for the spec of each type.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from logpersister.forms.problems import Finding, PathStep, RefusedError
from logpersister.forms.rule import refuses
from logpersister.manifest.blocks.keep import named_columns
from logpersister.manifest.blocks.output import COLUMNAR
from logpersister.manifest.rules.condition_values import NOT_COMPARED, condition_findings
from logpersister.manifest.rules.folders import folder_findings
from logpersister.manifest.rules.format_limits import format_findings, parquet_findings
from logpersister.manifest.rules.sections import Sections
from logpersister.values.hidden_fields import hiding_findings

NO_COLUMN_OF_ITS_OWN: Final = "is the name of a column of values, too; case does not count"
ALSO_FOLDER: Final = "is also the name of a folder of output.partitionBy, and readers take both for one column"
KEYS_SHOWN: Final = "stores keys as they are, but spec.value hides fields of them"
_NO_WRITER: Final = "is missing, and so is registry: values do not say by which schema they were written"
_WRITER: Final = (
    "set registry.url to what producers have as schema.registry.url, or write the schema of values without a header"
    " into schema (docs/schemas.md)"
)


class RowRules(Sections):
    """Rules of a spec with these sections (`Sections`)."""

    @refuses
    def _schemas_of_writers_are_known(self) -> Iterator[Finding]:
        key = None if self.key is None or not self.row_schema.has_columns else self.key.beside(self.value.registry)
        for at, block in (("value", self.value), ("key", key)):
            if block is None:
                continue
            if block.avro is not None:
                known: object = block.avro.registry or block.avro.row_schema.written_by(block.avro.framing)
            else:
                known = block.protobuf is None or block.protobuf.registry or block.protobuf.row_schema.has_text
            if not known:
                kind = "protobuf" if block.avro is None else "avro"
                single_object = block.avro is not None and block.avro.single_object is not None
                field = ("singleObject", "schemas") if single_object else ("schema",)
                yield Finding(_NO_WRITER, _WRITER, (at, kind, *field))
        of_values, of_keys = self.value.registry, None if self.key is None else self.key.registry
        if of_values is not None and of_keys is not None and of_values.place != of_keys.place:
            told = "is another registry than that of values, and a topic has one"
            kind = "protobuf" if self.key is None or self.key.avro is None else "avro"
            yield Finding(told, "leave it out, or write the same url and secretName", ("key", kind, "registry"))

    @refuses
    def _columns_are_stored_as_columns(self) -> Iterator[Finding]:
        schema = self.row_schema
        if self.output.format in COLUMNAR:
            return
        remedy, at = "choose parquet, orc, avro or jsonl", ("output",)
        if schema.rest_column is not None:
            told = "stores values unchanged, but unknownFields: keep adds a column"
            yield Finding(told, f"{remedy}, or remove it from spec.value", at)
        if schema.hidden:
            told = "stores values unchanged, but spec.value hides fields of them"
            yield Finding(told, f"{remedy}, or remove hash, mask and drop from spec.value", at)

    @refuses
    def _columns_have_names_of_their_own(self) -> Iterator[Finding]:
        schema = self.row_schema
        if not schema.has_columns:
            return
        names = {one.name.lower() for one in schema.declared if one.name not in schema.drop}
        if schema.key is not None and schema.key.column.lower() in names:
            yield Finding(NO_COLUMN_OF_ITS_OWN, "choose another one", ("key", "column"), f'"{schema.key.column}"')
        names |= set() if schema.key is None else {schema.key.column.lower()}
        if schema.rest_column is not None and schema.rest_column.lower() in names:
            at = ("value", self.value.kind, "restColumn")
            yield Finding(NO_COLUMN_OF_ITS_OWN, "set it to another name", at, f'"{schema.rest_column}"')
        if self.output.format in COLUMNAR:
            folders = {one.lower() for one in self.output.folder_columns}
            remedy = "set another prefix in spec.output.partitionBy, or leave the field out"
            for one in schema.columns:
                if one.name.lower() in folders:
                    yield Finding(ALSO_FOLDER, remedy, ("value",), f'"{one.name}"')

    @refuses
    def _output_and_conditions_are_of_columns(self) -> Iterator[Finding]:
        schema = self.row_schema
        yield from format_findings(self.output.format, schema.columns)
        if schema.asks_registry:
            return
        if self.types is None and self.output.format == "parquet":
            yield from parquet_findings(self.output, schema)
        if self.types is None:
            for index, level in enumerate(self.output.partition_by):
                yield from folder_findings(level, index, schema)
        try:
            parsed = schema.parsed_for(named_columns(self.keep))
        except RefusedError as error:  # a dropped column, so it needs no type, except for a condition on it
            untyped = error.findings[0]
            yield Finding(f"{NOT_COMPARED}: {untyped.expectation}", "write conditions on other fields", ("keep",))
            return
        for place, condition in enumerate(self.keep):
            for one in condition_findings(condition, parsed):
                yield replace(one, at=("keep", place, *one.at))

    @refuses
    def _what_is_hidden_is_there_and_needed(self) -> Iterator[Finding]:
        schema, needed = self.row_schema, named_columns(self.keep)
        if not schema.hidden or schema.asks_registry:
            return
        wrong = [replace(one, at=("value", *one.at)) for one in hiding_findings(schema)]
        yield from wrong
        if wrong or schema.fields is None:
            return
        told = "is a column of fields, and no condition of spec.keep is about it"
        for place, name in enumerate(schema.drop):
            if name not in needed:
                at: tuple[PathStep, ...] = ("value", "drop", place)
                yield Finding(told, "remove it from the fields of spec.value, and here", at, f'"{name}"')

    @refuses
    def _nothing_hidden_is_shown(self) -> Iterator[Finding]:
        schema = self.row_schema
        if not schema.hidden:
            return
        quarantine = self.parser.quarantine
        if quarantine.keep_value is None and quarantine.hold_above != 0:
            remedy = (
                "set keepValue to false; or keepValue to true if readers of quarantine may see the fields; or holdAbove"
                " to 0%, which holds a range with a refused record"
            )
            told = "would store refused values unchanged, but spec.value hides fields of them"
            yield Finding(told, remedy, ("quarantine",))
        if schema.key is not None and "key" in self.output.columns_of_kafka(has_schema=True):
            hidden = [path for path in schema.hidden_texts if path.partition(".")[0] == schema.key.column]
            if hidden:
                remedy = f"remove key there, or {', '.join(hidden)} from hash and mask of spec.value"
                yield Finding(KEYS_SHOWN, remedy, ("output", self.output.format, "kafkaColumns"))
