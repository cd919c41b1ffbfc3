"""``spec.schema.key``: the column that keys become."""

from collections.abc import Sequence
from typing import Final, Literal

from logpersister.manifest.constraint import Model
from logpersister.manifest.declared_columns import Column, Notation
from logpersister.manifest.field import FieldName, TypeText
from logpersister.manifest.problems import Finding
from logpersister.manifest.rule import NotInCel, rule
from logpersister.manifest.types import ListOf, MapOf, Plain, Struct, Timestamp, Type, leaves, parse_type

KeyParser = Literal["text", "json", "avro"]
KeyFraming = Literal["confluent", "apicurio"]

TEXT: Final = "text"
"""What a key that is text is called before it is a column."""
NO_KEY: Final = "cannot be what keys become"
"""How every refusal of a type begins."""


class KeySpec(Model):
    """How keys become a column beside those of values. A null key is null; one that does not fit refuses its record."""

    parser: KeyParser = "text"
    """`text`: each key is a text in UTF-8, which becomes one value, as in a column of CSV. `json`: each key is a JSON
    object. `avro`: each key is an Avro record behind the id of its schema, which `spec.schema.registry` knows."""

    type: TypeText = "string"
    """Type of the column: with `text` one without parts, such as `string` or `int64`; else a struct, for example
    `struct<id: int64 not null, region: string>`. Fields of keys that it does not name are left out."""

    format: Notation | None = None
    """Notation of the timestamps in keys, as in `fields`. Default: `rfc3339`. Only with timestamps."""

    framing: KeyFraming = "confluent"
    """Header of Avro keys, as in `spec.parser.framing`. Only with `avro`."""

    column: FieldName = "key"
    """Name of the column, which stands after those of values. Fields of a struct are named by paths, such as
    `key.id`."""

    @property
    def parsed(self) -> Type:
        """What `type` means."""
        return parse_type(self.type)

    @property
    def declared(self) -> Column:
        """The column."""
        return Column(self.column, self.parsed, required=False, format=self.format)

    @property
    def inner(self) -> tuple[Column, ...]:
        """What a parser finds in keys: the fields of the struct, or only `TEXT`."""
        if isinstance(self.parsed, Struct):
            return tuple(Column(one.name, one.type, one.required, format=self.format) for one in self.parsed.members)
        return (Column(TEXT, self.parsed, required=False, format=self.format),)

    @rule(
        "!has(self.format) || $type.contains('timestamp[')",
        "is set, and the type has no timestamp",
        "remove it, or write for example type timestamp[ms]",
        "format",
    )
    def _a_format_is_for_timestamps(self) -> bool:
        return self.format is None or any(isinstance(leaf, Timestamp) for leaf in leaves(self.parsed))

    @rule(
        "$framing == 'confluent' || $parser == 'avro'",
        "has no meaning without parser avro",
        "remove it, or set spec.schema.key.parser to avro",
        "framing",
    )
    def _a_framing_is_of_registries(self) -> bool:
        return self.framing == "confluent" or self.parser == "avro"

    @rule(
        NotInCel("it would have to understand the type"),
        NO_KEY,
        "write another type (docs/schemas.md#keys)",
        "type",
    )
    def _the_parser_has_the_type(self) -> Sequence[Finding]:
        type_, at, value = self.parsed, ("type",), f'"{self.type}"'
        if self.parser == "text" and isinstance(type_, Struct | ListOf | MapOf):
            told = f"{NO_KEY} by parser text: a text has no parts"
            return [Finding(told, "write for example string, or set spec.schema.key.parser to json", at, value)]
        if self.parser != "text" and not isinstance(type_, Struct):
            told = f"{NO_KEY} by parser {self.parser}: it is no struct"
            return [Finding(told, "name the fields, for example struct<id: int64>", at, value)]
        if self.parser == "avro" and any(leaf == Plain("json") for leaf in leaves(type_)):
            told = f"{NO_KEY} by parser avro: Avro has no json"
            return [Finding(told, "write the type that the field has in keys", at, value)]
        return []
