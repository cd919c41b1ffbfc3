"""Subjects whose versions have the schemas that values name by fingerprints: each topic's own. Pure.

A range is promised under a revision that names them, so that whoever executes it asks for the same ones.
"""

from collections.abc import Mapping
from typing import Any

from logpersister.manifest.blocks.event_types import TypeRule, TypesSpec
from logpersister.manifest.rules.sections import Sections, completed
from logpersister.values.key import KeySpec
from logpersister.values.registry import TOPIC, RegistrySpec
from logpersister.values.value import ValueSpec


def with_subjects(spec: Sections, topic: str) -> Mapping[str, Any]:
    """Return which blocks of a spec become others when its subjects are those of a topic."""
    changed: dict[str, Any] = {"value": _of_values(spec.value, topic)}
    changed["key"] = None if spec.key is None else _of_keys(spec.key, spec.value.registry, topic)
    if spec.types is not None:
        entries = tuple(_of_entry(one, spec.value, spec.types, topic) for one in spec.types.entries)
        changed["types"] = spec.types.model_copy(update={"entries": entries})
    return {name: block for name, block in changed.items() if block != getattr(spec, name)}


def _of_entry(entry: TypeRule, of_topic: ValueSpec, types: TypesSpec, topic: str) -> TypeRule:
    value, registry = entry.value, of_topic.registry
    if value is not None:
        whole = completed(value, of_topic, types)
        named, registry = _of_values(whole, topic), whole.registry or registry
        value = value if named == whole else named
    key = None if entry.key is None else _of_keys(entry.key, registry, topic)
    return entry.model_copy(update={"value": value, "key": key})


def _of_values(value: ValueSpec, topic: str) -> ValueSpec:
    """Return values whose subjects are named, as far as they are asked for."""
    avro = value.avro
    if avro is None or avro.single_object is None or avro.registry is None:
        return value
    if TOPIC not in avro.registry.subject_of(TOPIC):
        return value
    registry = avro.registry.model_copy(update={"subject": avro.registry.subject_of(topic)})
    return value.model_copy(update={"avro": avro.model_copy(update={"registry": registry})})


def _of_keys(key: KeySpec, of_values: RegistrySpec | None, topic: str) -> KeySpec:
    if key.avro is None or key.avro.single_object is None:
        return key
    avro = key.beside(of_values).avro
    if avro is None or avro.registry is None:
        return key
    registry = avro.registry.model_copy(update={"subject": avro.registry.subject_of_keys(topic)})
    return key.model_copy(update={"avro": avro.model_copy(update={"registry": registry})})
