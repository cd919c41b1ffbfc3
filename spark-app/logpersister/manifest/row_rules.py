"""Contradictions between the parser, the schema, the output and the conditions of a spec.

Each method of `RowRules` is one rule, and its name says what must hold. ``@rule`` (`manifest.rule`) has its expression
in CEL, or why CEL cannot say it; the message; the remedy; and the path of the field. The method evaluates the same in
Python: it returns whether the rule holds, or its violations, where each has a path and a remedy of its own.

A rule returns no violations where a registry declares the columns, which are unknown then (`asks_registry`): it is
evaluated again once the registry has answered. Likewise topics with types: it is evaluated for the spec of each type.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from logpersister.manifest.condition_values import NOT_COMPARED, condition_findings
from logpersister.manifest.folders import NO_FOLDERS, folder_findings
from logpersister.manifest.format_limits import NO_COLUMN, NOT_IN_FORMAT, format_findings, parquet_findings
from logpersister.manifest.framing_rules import FramingRules, Rows
from logpersister.manifest.keep import named_columns
from logpersister.manifest.output import COLUMNAR
from logpersister.manifest.pattern import groups_of
from logpersister.manifest.problems import Finding, RefusedError
from logpersister.manifest.rule import NotInCel, cel_literal, rule
from logpersister.manifest.types import ListOf, MapOf, Plain, Struct, Type, leaves

HIDES_NOTHING: Final = (
    "!has(self.schema) || !has(self.schema.hash) && (!has(self.schema.mask) || self.schema.mask.size() == 0)"
    " && (!has(self.schema.drop) || self.schema.drop.size() == 0)"
)
"""CEL: all fields are stored as they are."""

# Messages that several places need.
NO_REST: Final = "is the name of a column of values, and so of what unknownFields keeps; case does not count"
NO_ABSENT: Final = "is for fields that may be absent, and values of this parser lack none"
ALSO_FOLDER: Final = "is also the name of a folder of output.partitionBy, and readers take both for one column"
_NO_JSON: Final = "has json in it, which Avro and MessagePack values do not have"
_NO_JSON_REMEDY: Final = "write the type that the field has in the values, for example string or struct<a: int32>"
_NO_PARTS: Final = "is a struct, list or map, which lines of text do not have"
_NO_PARTS_REMEDY: Final = "take string, or json where the text is a JSON document"
_NOT_IN_VALUES: Final = "is not a field of the values"
_NO_FIELD: Final = "has a group whose name is not a field of spec.schema"
KEYS_SHOWN: Final = "stores keys as they are, but spec.schema hides fields of them"


def _columns_of_types(rows: Rows, is_wrong: Callable[[Type], bool], told: str, remedy: str) -> Sequence[Finding]:
    """Return a finding for each declared column whose type is wrong."""
    columns = () if rows.row_schema is None else rows.row_schema.declared
    return [Finding(told, remedy, ("schema",), f'"{one.name}: {one.type}"') for one in columns if is_wrong(one.type)]


class RowRules(FramingRules):
    """Rules of a spec with these sections (`Rows`)."""

    # The parser and its schema.

    @rule(
        "!has(self.schema) || $parser.type != 'bytes'",
        "is set, and values are not parsed",
        "set spec.parser.type, for example to json, or remove it",
        "schema",
    )
    def _a_schema_is_for_a_parser(self: Rows) -> bool:
        return self.row_schema is None or self.parser.type != "bytes"

    @rule(
        "has(self.schema) || $parser.type in ['bytes', 'json', 'avro', 'protobuf', 'thrift']",
        "is missing, and this parser makes rows of it",
        "name the fields of the values in spec.schema.fields (docs/schemas.md)",
        "schema",
    )
    def _rows_have_a_schema(self: Rows) -> bool:
        return self.row_schema is not None or self.parser.type in ("bytes", "json", "avro", "protobuf", "thrift")

    @rule(
        "$parser.type != 'thrift' || has(self.schema) && has(self.schema.thrift)",
        "is missing, and values of Thrift do not say by which schema they were written",
        "write the .thrift file into spec.schema.thrift.idl (docs/schemas.md#thrift)",
        *("schema", "thrift"),
    )
    def _thrift_has_a_schema(self: Rows) -> bool:
        return self.parser.type != "thrift" or (self.row_schema is not None and self.row_schema.thrift is not None)

    @rule(
        "!has(self.schema) || (!has(self.schema.thrift) || $parser.type == 'thrift')"
        " && (!has(self.schema.jsonSchema) || $parser.type == 'json')"
        " && (!has(self.schema.protobuf) && !has(self.schema.message) || $parser.type == 'protobuf')"
        " && (!has(self.schema.avro) || $parser.type == 'avro')",
        "has a schema of another parser",
        "name the columns in spec.schema.fields, or set spec.parser.type",
        "schema",
    )
    def _schemas_are_of_the_parser(self: Rows) -> Sequence[Finding]:
        schema = self.row_schema
        if schema is None:
            return []
        found = {
            "avro": ("avro", schema.avro),
            "protobuf": ("protobuf", schema.protobuf),
            "message": ("protobuf", schema.message),
            "thrift": ("thrift", schema.thrift),
            "jsonSchema": ("json", schema.json_schema),
        }
        remedy = "name the columns in spec.schema.fields, or set spec.parser.type to {}"
        return [
            Finding(f"is for parser {parser}", remedy.format(parser), ("schema", name))
            for name, (parser, value) in found.items()
            if value is not None and self.parser.type != parser
        ]

    # Fields that values of the parser can have.

    @rule(
        NotInCel("it would have to understand the types of the schema"),
        _NO_JSON,
        _NO_JSON_REMEDY,
        "schema",
    )
    def _binary_values_have_no_json(self: Rows) -> Sequence[Finding]:
        if self.parser.type not in ("avro", "messagepack"):
            return []
        return _columns_of_types(self, lambda type_: Plain("json") in leaves(type_), _NO_JSON, _NO_JSON_REMEDY)

    @rule(
        NotInCel("it would have to understand the types of the schema"),
        _NO_PARTS,
        _NO_PARTS_REMEDY,
        "schema",
    )
    def _lines_have_plain_fields(self: Rows) -> Sequence[Finding]:
        if self.parser.type not in ("csv", "regex"):
            return []
        return _columns_of_types(
            self, lambda type_: isinstance(type_, Struct | ListOf | MapOf), _NO_PARTS, _NO_PARTS_REMEDY
        )

    @rule(
        NotInCel("comparing so many names costs more than the API server allows"),
        _NOT_IN_VALUES,
        "name it in spec.parser.csv.columns, or write a group for it in spec.parser.regex.pattern",
        *("schema", "fields"),
    )
    def _lines_have_the_fields(self: Rows) -> Sequence[Finding]:
        columns = () if self.row_schema is None else self.row_schema.source_columns
        if self.parser.type == "csv" and self.parser.csv is not None and self.parser.csv.columns is not None:
            known: Sequence[str] = self.parser.csv.columns
            remedy = "add it to spec.parser.csv.columns, at its place in the values, or remove it"
        elif self.parser.type == "regex" and self.parser.regex is not None:
            known = groups_of(self.parser.regex.pattern)
            remedy = "write for example (?P<{}>[^ ]*) into spec.parser.regex.pattern, or remove it"
        else:
            return []
        return [
            Finding(_NOT_IN_VALUES, remedy.format(one.name), ("schema", "fields", place, "name"), f'"{one.name}"')
            for place, one in enumerate(columns)
            if one.name not in known
        ]

    @rule(
        NotInCel("it would have to understand the pattern"),
        _NO_FIELD,
        "add the field, or write (?:...) instead of the group",
        *("parser", "regex", "pattern"),
    )
    def _groups_are_fields(self: Rows) -> Sequence[Finding]:
        if self.row_schema is None or self.parser.type != "regex" or self.parser.regex is None:
            return []
        fields = {one.name for one in self.row_schema.source_columns}
        return [
            Finding(
                f"{_NO_FIELD}: {name}",
                f"add the field {name}, or write (?:...) instead of (?P<{name}>...)",
                ("parser", "regex", "pattern"),
            )
            for name in groups_of(self.parser.regex.pattern)
            if name not in fields
        ]

    # Fields that the schema does not name, faults, defaults.

    @rule(
        f"$parser.unknownFields != 'keep' || $output.format in {cel_literal(COLUMNAR)}",
        "adds a column, but the format stores values unchanged",
        "remove it, or set spec.output.format to parquet, orc, avro or jsonl",
        *("parser", "unknownFields"),
    )
    def _what_is_kept_has_a_column(self: Rows) -> bool:
        return self.parser.rest is None or self.output.format in COLUMNAR

    @rule(
        NotInCel("spec.schema.rename can give a column any name"),
        NO_REST,
        "choose another one",
        *("parser", "restColumn"),
    )
    def _what_is_kept_has_a_column_of_its_own(self: Rows) -> Sequence[Finding]:
        rest, schema = self.parser.rest, self.row_schema
        if rest is None or schema is None:
            return []
        names = {one.name.lower() for one in schema.declared if one.name not in schema.drop}
        names |= set() if schema.key is None else {schema.key.column.lower()}
        if rest.lower() not in names:
            return []
        return [Finding(NO_REST, "set spec.parser.restColumn to another name", ("parser", "restColumn"), f'"{rest}"')]

    @rule(
        NotInCel("of a value of any type CEL sees nothing"),
        NO_ABSENT,
        "remove it; a null in a column is null",
        *("schema", "fields"),
    )
    def _defaults_are_for_fields_that_may_be_absent(self: Rows) -> Sequence[Finding]:
        fields = () if self.row_schema is None else self.row_schema.fields or ()
        if self.parser.type in ("json", "messagepack"):
            return []
        remedy = "remove it; only values of json and messagepack can lack a field"
        return [
            Finding(NO_ABSENT, remedy, ("schema", "fields", place, "default"))
            for place, one in enumerate(fields)
            if one.default is not None
        ]

    # Columns in folders and files.

    @rule(
        NotInCel("the default of a folder's prefix depends on its granularity"),
        ALSO_FOLDER,
        "set another prefix in spec.output.partitionBy, or leave the field out",
        "schema",
    )
    def _columns_are_no_folders(self: Rows) -> Sequence[Finding]:
        if self.row_schema is None or self.output.format not in COLUMNAR:
            return []
        prefixes = [level.folder_prefix for level in self.output.partition_by]
        folders = {prefix.removesuffix("=").lower() for prefix in prefixes if prefix.endswith("=")}
        remedy = "set another prefix in spec.output.partitionBy, or leave the field out"
        names = [one.name for one in self.row_schema.columns if one.name.lower() in folders]
        return [Finding(ALSO_FOLDER, remedy, ("schema",), f'"{name}"') for name in names]

    @rule(
        NotInCel("it would have to understand the types of the schema"),
        NOT_IN_FORMAT,
        "choose another format (docs/formats.md)",
        "output",
        "format",
    )
    def _the_format_has_the_columns(self: Rows) -> Sequence[Finding]:
        columns = () if self.row_schema is None else self.row_schema.columns
        return list(format_findings(self.output.format, columns))

    @rule(
        NotInCel("it would have to understand the types of the schema"),
        NO_COLUMN,
        "name a column of the files",
        *("output", "parquet"),
    )
    def _options_are_of_columns(self: Rows) -> Sequence[Finding]:
        if self.types is not None or self.output.format != "parquet":
            return []
        if self.row_schema is not None and self.row_schema.asks_registry:
            return []
        return list(parquet_findings(self.output, self.row_schema))

    @rule(
        NotInCel("it would have to understand the types of the schema"),
        NO_FOLDERS,
        "name another one (docs/schemas.md)",
        "output",
        "partitionBy",
    )
    def _folders_are_of_fields(self: Rows) -> Sequence[Finding]:
        if self.types is not None or (self.row_schema is not None and self.row_schema.asks_registry):
            return []
        levels = enumerate(self.output.partition_by)
        return [one for index, level in levels for one in folder_findings(level, index, self.row_schema)]

    # Conditions of spec.keep, and columns that only they need.

    @rule(
        NotInCel("it would have to understand the types of the schema"),
        NOT_COMPARED,
        "write another condition (docs/filters.md)",
        "keep",
    )
    def _conditions_are_of_fields(self: Rows) -> Sequence[Finding]:
        schema = self.row_schema
        if schema is not None and schema.asks_registry:
            return []
        try:
            parsed = None if schema is None else schema.parsed_for(named_columns(self.keep))
        except RefusedError as error:  # a dropped column, so it needs no type, except for a condition on it
            untyped = error.findings[0]
            return [Finding(f"{NOT_COMPARED}: {untyped.expectation}", "write conditions on other fields", ("keep",))]
        return [
            replace(one, at=("keep", place, *one.at))
            for place, condition in enumerate(self.keep)
            for one in condition_findings(condition, parsed)
        ]

    @rule(
        "!has(self.schema) || !has(self.schema.drop) || !has(self.schema.fields) || self.schema.drop.all(name,"
        " has(self.keep) && self.keep.exists(one, has(one.field)"
        " && (one.field == name || one.field.startsWith(name + '.'))))",
        "has columns of fields that no condition of spec.keep is about",
        "remove them from spec.schema.fields, and here",
        *("schema", "drop"),
    )
    def _what_is_dropped_of_fields_is_needed(self: Rows) -> Sequence[Finding]:
        schema = self.row_schema
        if schema is None or schema.fields is None:
            return []
        told = "is a column of fields, and no condition of spec.keep is about it"
        needed, remedy = named_columns(self.keep), "remove it from spec.schema.fields, and here"
        return [
            Finding(told, remedy, ("schema", "drop", place), f'"{name}"')
            for place, name in enumerate(schema.drop)
            if name not in needed
        ]

    # Hidden fields.

    @rule(
        f"{HIDES_NOTHING} || $output.format in {cel_literal(COLUMNAR)}",
        "stores values unchanged, but spec.schema hides fields of them",
        "set it to parquet, avro, orc or jsonl, or remove hash, mask and drop from spec.schema",
        *("output", "format"),
    )
    def _hidden_fields_are_columns(self: Rows) -> bool:
        return self.row_schema is None or not self.row_schema.hidden or self.output.format in COLUMNAR

    @rule(
        f"{HIDES_NOTHING} || has(self.parser) && has(self.parser.quarantine) && (has(self.parser.quarantine.keepValue)"
        " || has(self.parser.quarantine.holdAbove) && self.parser.quarantine.holdAbove.matches('^0+%$'))",
        "would store refused values unchanged, but spec.schema hides fields of them",
        "set keepValue to false and format to parquet; or keepValue to true if readers of quarantine may see the"
        " fields; or holdAbove to 0%, which holds a range with a refused record",
        *("parser", "quarantine"),
    )
    def _quarantine_shows_nothing_hidden(self: Rows) -> bool:
        quarantine = self.parser.quarantine
        is_decided = quarantine.keep_value is not None or quarantine.hold_above == 0
        return self.row_schema is None or not self.row_schema.hidden or is_decided

    @rule(
        NotInCel("fields of keys are paths, whose first name the manifest may choose"),
        KEYS_SHOWN,
        "remove key there, or do not hide it",
        "output",
    )
    def _keys_show_nothing_hidden(self: Rows) -> Sequence[Finding]:
        schema = self.row_schema
        if schema is None or schema.key is None or "key" not in self.output.columns_of_kafka(has_schema=True):
            return []
        hidden = [path for path in schema.hidden_texts if path.partition(".")[0] == schema.key.column]
        remedy = f"remove key there, or {', '.join(hidden)} from hash and mask of spec.schema"
        return [Finding(KEYS_SHOWN, remedy, ("output", "kafkaColumns"))] if hidden else []
