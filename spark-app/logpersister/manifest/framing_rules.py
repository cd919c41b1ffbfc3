"""Rules about headers of values and keys, and about the registry that knows what they say."""

from collections.abc import Sequence
from typing import Protocol

from logpersister.manifest.constraint import Model
from logpersister.manifest.keep import Condition
from logpersister.manifest.output import OutputSpec
from logpersister.manifest.parser import BY_ID, FRAMED, Framing, ParserSpec, framed
from logpersister.manifest.registry import GLUE, RegistrySpec
from logpersister.manifest.row_schema import SchemaSpec
from logpersister.manifest.rule import rule


class Rows(Protocol):
    """Sections of a spec that rows depend on."""

    @property
    def parser(self) -> ParserSpec: ...

    @property
    def row_schema(self) -> SchemaSpec | None: ...

    @property
    def output(self) -> OutputSpec: ...

    @property
    def keep(self) -> Sequence[Condition]: ...

    @property
    def types(self) -> object: ...


_KEYS = "self.schema.key"
_HAS_REGISTRY = "has(self.schema) && has(self.schema.registry)"
_KEYS_NAME_SCHEMAS = (
    "(has(self.schema) && has(self.schema.key) && has(self.schema.key.parser) && self.schema.key.parser in"
    f" ['avro', 'protobuf'] && !{framed('plain', of=_KEYS)})"
)
"""CEL: keys name the schemas by which they were written."""


def _registry(rows: Rows) -> RegistrySpec | None:
    return None if rows.row_schema is None else rows.row_schema.registry


def _is_of(registry: RegistrySpec, framing: Framing) -> bool:
    """Whether ids of a framing are those of a registry, as far as it has ids."""
    return framing not in BY_ID or (framing == "glue") == (registry.glue is not None)


class FramingRules(Model):
    """The rules, for a spec that has these fields."""

    @rule(
        f"$parser.type != 'avro' || {framed('plain', 'singleObject')} || {_HAS_REGISTRY}",
        "is missing, and parser avro has to learn by which schemas values were written",
        "set spec.schema.registry.url to what producers have as schema.registry.url, or spec.parser.framing to plain or"
        " singleObject (docs/schemas.md)",
        *("schema", "registry"),
    )
    def _avro_has_a_registry(self: Rows) -> bool:
        return self.parser.type != "avro" or self.parser.framing not in BY_ID or _registry(self) is not None

    @rule(
        f"$parser.type != 'protobuf' || {framed('plain')} || {_HAS_REGISTRY}",
        "is missing, and values with a header name schemas that it knows",
        "set spec.schema.registry.url to what producers have as schema.registry.url, or spec.parser.framing to plain"
        " (docs/schemas.md#protobuf)",
        *("schema", "registry"),
    )
    def _protobuf_with_a_header_has_a_registry(self: Rows) -> bool:
        return self.parser.type != "protobuf" or self.parser.framing == "plain" or _registry(self) is not None

    @rule(
        f"$parser.type != 'protobuf' || !{framed('plain')} || has(self.schema) && has(self.schema.protobuf)",
        "is missing, and values without a header do not say by which schema they were written",
        "write the .proto text there, or a descriptor set in base64 (docs/schemas.md#protobuf)",
        *("schema", "protobuf"),
    )
    def _protobuf_without_a_header_has_a_schema(self: Rows) -> bool:
        is_plain = self.parser.type == "protobuf" and self.parser.framing == "plain"
        return not is_plain or (self.row_schema is not None and self.row_schema.protobuf is not None)

    @rule(
        f"$parser.type != 'avro' || !{framed('plain')} || has(self.schema) && (has(self.schema.avro)"
        " || has(self.schema.writers) && self.schema.writers.size() > 0)",
        "is missing, and values without a header do not say by which schema they were written",
        "write the Avro schema of the values there (docs/schemas.md#avro-without-a-registry)",
        *("schema", "avro"),
    )
    def _avro_without_a_header_has_a_schema(self: Rows) -> bool:
        is_plain = self.parser.type == "avro" and self.parser.framing == "plain"
        return not is_plain or (self.row_schema is not None and bool(self.row_schema.written_by("plain")))

    @rule(
        f"$parser.type != 'avro' || !{framed('plain')} || !has(self.schema) || !has(self.schema.writers)"
        " || self.schema.writers.size() <= 1",
        "has several schemas, and values without a header do not say by which of them they were written",
        "name one, or set spec.parser.framing to singleObject",
        *("schema", "writers"),
    )
    def _plain_values_have_one_writer(self: Rows) -> bool:
        is_plain = self.parser.type == "avro" and self.parser.framing == "plain"
        return not is_plain or self.row_schema is None or len(self.row_schema.writers) <= 1

    @rule(
        f"!{framed('singleObject')} || {_HAS_REGISTRY} || has(self.schema)"
        " && (has(self.schema.avro) || has(self.schema.writers) && self.schema.writers.size() > 0)",
        "is missing, and so are writers and registry: nobody knows the schemas whose fingerprints values have",
        "write the Avro schema of the values there, or name the registry that has it"
        " (docs/schemas.md#avro-without-a-registry)",
        *("schema", "avro"),
    )
    def _fingerprints_are_of_known_schemas(self: Rows) -> bool:
        if self.parser.type != "avro" or self.parser.framing != "singleObject":
            return True
        schema = self.row_schema
        return schema is not None and (schema.registry is not None or bool(schema.written_by("singleObject")))

    @rule(
        f"!has(self.schema) || !has(self.schema.fields) || !has(self.schema.avro) || $parser.type == 'avro'"
        f" && {framed('plain', 'singleObject')}",
        "declares columns, and so does fields",
        "remove one of them",
        *("schema", "avro"),
    )
    def _columns_are_declared_in_one_way(self: Rows) -> bool:
        is_of_writers = self.parser.type == "avro" and self.parser.framing not in BY_ID
        schema = self.row_schema
        return schema is None or schema.fields is None or schema.avro is None or is_of_writers

    @rule(
        f"$parser.type != 'json' || !{framed(*BY_ID)} || has(self.schema)",
        "is missing, and values would be stored with their header",
        "name the fields of the documents in spec.schema.fields, or the registry that has them in spec.schema.registry",
        "schema",
    )
    def _documents_with_a_header_become_rows(self: Rows) -> bool:
        return self.parser.type != "json" or self.parser.framing == "plain" or self.row_schema is not None

    @rule(
        f"!{_KEYS_NAME_SCHEMAS} || has(self.schema.key.avro) || {_HAS_REGISTRY}",
        "is missing, and keys name schemas that it knows",
        "set spec.schema.registry.url to what producers have as schema.registry.url, or spec.schema.key.framing to"
        " plain (docs/schemas.md#keys)",
        *("schema", "registry"),
    )
    def _keys_with_a_header_have_a_registry(self: Rows) -> bool:
        key = None if self.row_schema is None else self.row_schema.key
        return key is None or not key.names_schemas or key.avro is not None or _registry(self) is not None

    @rule(
        f"!({_HAS_REGISTRY}) || $parser.type == 'json' && has(self.schema.fields)"
        f" || (self.schema.registry.url.startsWith('{GLUE}') ? {framed('glue', 'singleObject', 'plain')}"
        f" || !($parser.type in ['avro', 'protobuf']) && !{framed('confluent', 'apicurio')} : !{framed('glue')})",
        "is not a registry whose ids stand in values with this spec.parser.framing",
        f"write framing glue and {GLUE}REGION/REGISTRY together, or neither of them",
        *("schema", "registry", "url"),
    )
    def _ids_of_values_are_of_the_registry(self: Rows) -> bool:
        schema, registry = self.row_schema, _registry(self)
        says_nothing = self.parser.type == "json" and schema is not None and schema.fields is not None
        return registry is None or says_nothing or _is_of(registry, self.parser.framing)

    @rule(
        f"!{_KEYS_NAME_SCHEMAS} || !({_HAS_REGISTRY}) || (self.schema.registry.url.startsWith('{GLUE}')"
        f" ? {framed('glue', 'singleObject', of=_KEYS)} : !{framed('glue', of=_KEYS)})",
        "is not a registry whose ids stand in keys with this spec.schema.key.framing",
        f"write framing glue and {GLUE}REGION/REGISTRY together, or neither of them",
        *("schema", "registry", "url"),
    )
    def _ids_of_keys_are_of_the_registry(self: Rows) -> bool:
        registry, key = _registry(self), None if self.row_schema is None else self.row_schema.key
        return registry is None or key is None or not key.names_schemas or _is_of(registry, key.framing)

    @rule(
        f"!({_HAS_REGISTRY}) || has(self.schema.fields) || has(self.schema.thrift)"
        " || $parser.type in ['avro', 'protobuf', 'json']",
        "is missing, and for values of this parser the registry has no schemas",
        "name the fields of the values in spec.schema.fields (docs/schemas.md)",
        *("schema", "fields"),
    )
    def _a_registry_declares_columns_of_its_own(self: Rows) -> bool:
        schema = self.row_schema
        return schema is None or not schema.asks_registry or self.parser.type in FRAMED
