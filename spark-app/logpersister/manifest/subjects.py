"""Subjects whose versions have the schemas that values name by fingerprints: each topic's own. Pure.

A range is promised under a revision that names them, so that whoever executes it asks for the same ones.
"""

from collections.abc import Mapping
from typing import Any

from logpersister.manifest.event_types import TypeRule
from logpersister.manifest.parser import ParserSpec
from logpersister.manifest.registry import TOPIC, RegistrySpec
from logpersister.manifest.row_schema import SchemaSpec
from logpersister.manifest.type_specs import Typed

SINGLE_OBJECT = "singleObject"


def with_subjects(spec: Typed, topic: str) -> Mapping[str, Any]:
    """Return which blocks of a spec become others when its subjects are those of a topic."""
    changed: dict[str, Any] = {}
    general = None if spec.row_schema is None else spec.row_schema.registry
    if spec.declared_schema is not None:
        changed["declared_schema"] = _named(spec.declared_schema, spec.parser, general, topic)
    if spec.types is not None:
        entries = tuple(_of_entry(one, spec.parser, general, topic) for one in spec.types.entries)
        others = _of_entry(spec.types.others, spec.parser, general, topic)
        changed["types"] = spec.types.model_copy(update={"entries": entries, "others": others})
    return {name: block for name, block in changed.items() if block != getattr(spec, name)}


def _of_entry(entry: TypeRule, parser: ParserSpec, general: RegistrySpec | None, topic: str) -> TypeRule:
    schema = entry.row_schema
    if schema is None:
        return entry
    registry = schema.registry or general
    return entry.model_copy(update={"row_schema": _named(schema, entry.parser or parser, registry, topic)})


def _named(schema: SchemaSpec, parser: ParserSpec, registry: RegistrySpec | None, topic: str) -> SchemaSpec:
    """Return a schema whose subjects are named, as far as they are asked for."""
    if registry is None:
        return schema
    changed: dict[str, Any] = {}
    if parser.framing == SINGLE_OBJECT and TOPIC in registry.subject_of(TOPIC):
        changed["registry"] = registry.model_copy(update={"subject": registry.subject_of(topic)})
    if schema.key is not None and schema.key.framing == SINGLE_OBJECT:
        subject = registry.subject_of_keys(schema.key.subject, topic)
        changed["key"] = schema.key.model_copy(update={"subject": subject})
    return schema.model_copy(update=changed) if changed else schema
