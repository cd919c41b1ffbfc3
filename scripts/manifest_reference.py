"""The reference of the manifest, made from the model: tables of docs/manifest.md, which a test compares.

``python scripts/manifest_reference.py docs/manifest.md`` writes them anew between their markers.
"""

import json
import re
import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from definitions.schema import json_schema

from logpersister.forms.constraint import BOUNDS
from logpersister.forms.quantity import DURATION_PATTERN, PERCENT_PATTERN, SHARE_PATTERN, SIZE_PATTERN
from logpersister.values.key import KINDS as KEYS
from logpersister.values.registry import LATEST_PATTERN
from logpersister.values.value import KINDS as VALUES

_NAMES = {
    SIZE_PATTERN: "size (bytes)",
    DURATION_PATTERN: "duration",
    PERCENT_PATTERN: "percentage",
    SHARE_PATTERN: "number or percentage",
    LATEST_PATTERN: "`latest` or number",
}
"""What values of a certain notation are called."""
_AS_BEFORE = frozenset(
    f"{entry}.{block}"
    for entry in ("spec.overrides[]", "spec.types.entries[]")
    for block in ("value", "key", "quarantine", "output", "keep")
)
"""Mappings whose fields are described where the group has them."""
_LIKE = {
    **{
        f"spec.{value}.{kind}.{block}": f"spec.value.json.{block}"
        for value, kinds in (("value", VALUES), ("key", KEYS))
        for kind in kinds
        for block in ("fields[]", "faults", "registry")
        if (value, kind) != ("value", "json")
    },
    **{f"spec.value.{kind}": "spec.value.json" for kind in ("avro", "thrift", "messagepack", "csv")},
    "spec.value.protobuf": "spec.value.avro",
    "spec.value.regex": "spec.value.csv",
    "spec.value.regex.faults": "spec.value.csv.faults",
    **{f"spec.key.{kind}": f"spec.value.{kind}" for kind in KEYS},
    **{f"spec.output.{name}": "spec.output.parquet" for name in ("jsonl", "avro", "orc")},
    "spec.spark.executorPodTemplate": "spec.podTemplate",
    "spec.storage.copies[]": "spec.storage",
    "spec.types.frame.timestamp": "spec.types.frame.type",
}
"""Mappings that have the fields of another one. Only fields that differ from it are described again."""
_MARKED = re.compile(r"(<!-- fields of (\S+) -->\n)(?:\|.*\n)*")
_WHOLE = "the-resource"


@dataclass(frozen=True, slots=True)
class FieldDescription:
    """One field of the manifest."""

    path: str
    """``spec.kafka.topics``; entries of a list are ``spec.overrides[].keep``."""
    type: str
    default: str
    """Default as YAML, ``required``, or empty: not set, or dependent on other fields, as the description says."""
    description: str

    @property
    def block(self) -> str:
        """The path of the mapping that it is in."""
        return self.path.rpartition(".")[0]


def fields() -> list[FieldDescription]:
    """Return every field that a user can set, in the order of the model, once."""
    schema = json_schema(with_bounds=True)
    found = {field.path: field for field in _fields(schema, schema["$defs"], "") if field.path != "status"}
    return [field for field in found.values() if not _repeats(field, found)]


def _repeats(field: FieldDescription, described: Mapping[str, FieldDescription]) -> bool:
    twins = (
        described.get(other + field.path.removeprefix(block))
        for block, other in _LIKE.items()
        if field.path.startswith(f"{block}.")
    )
    return any(twin is not None and replace(field, path=twin.path) == twin for twin in twins)


def _fields(schema: Mapping[str, Any], definitions: Mapping[str, Any], prefix: str) -> Iterator[FieldDescription]:
    for name, outer in schema["properties"].items():
        path = f"{prefix}{name}"
        inner = _resolve(outer, definitions)
        description = str(outer.get("description", inner.get("description", "")))
        yield FieldDescription(
            path,
            _type(inner, definitions),
            _default(name, outer, inner, schema.get("required", ())),
            " ".join(description.split()),
        )
        entry = _resolve(inner.get("items", {}), definitions)
        if path in _AS_BEFORE:
            continue
        if "properties" in inner:
            yield from _fields(inner, definitions, f"{path}.")
        elif "properties" in entry:
            yield from _fields(entry, definitions, f"{path}[].")


def _resolve(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the schema itself: references followed, "or null" left out."""
    if "$ref" in schema:
        return _resolve(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    choices = [choice for choice in schema.get("anyOf", ()) if choice.get("type") != "null"]
    return _resolve(choices[0], definitions) if len(choices) == 1 else schema


def _type(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> str:
    kind = str(schema.get("type", "text, number or bool"))  # defaults of fields and values of conditions have no type
    if named := _NAMES.get(schema.get("pattern", "")):
        kind = f"{named}, {schema[BOUNDS]}"
    elif "minimum" in schema:
        kind = f"integer, {schema['minimum']} to {schema['maximum']}"
    elif "enum" in schema or "const" in schema:
        kind = ", ".join(f"`{word}`" for word in schema.get("enum", [schema.get("const")]))
    elif "items" in schema:
        item = _type(_resolve(schema["items"], definitions), definitions)
        kind = f"list of {item}" if item.endswith("`") else f"list of {item}s"
    elif kind == "object":
        kind = "map of strings" if "additionalProperties" in schema and "properties" not in schema else "mapping"
    return kind


def _default(name: str, outer: Mapping[str, Any], inner: Mapping[str, Any], required: tuple[str, ...]) -> str:
    if name in required:
        return "required"
    if "default" not in outer or "properties" in inner:
        return ""
    default = outer["default"]
    plain = isinstance(default, str) and re.fullmatch(r"[A-Za-z0-9._:-]+", default)
    return f"`{default if plain else json.dumps(default)}`"


def table(block: str, described: list[FieldDescription], apart: Collection[str]) -> str:
    """Return the table of the fields below ``block`` (``""``: of the resource), but for blocks that stand apart."""
    below = f"{block}." if block else ""
    deeper = tuple(f"{other}." for other in apart if other != block and other.startswith(below))
    lines = ["| field | type | default | |", "|---|---|---|---|"]
    lines += [
        f"| `{row.path.removeprefix(below)}` | {row.type} | {row.default} | {row.description.replace('|', '&#124;')} |"
        for row in described
        if row.path.startswith(below) and not row.path.startswith(deeper)
    ]
    return "\n".join(lines) + "\n"


def with_tables(text: str) -> str:
    """Return a page with the tables below its markers written anew (``<!-- fields of spec.kafka -->``).

    A table ends with an empty line. It has the fields at all depths, but for blocks with markers of their own.
    """
    described = fields()
    blocks = {"" if block == _WHOLE else block for _, block in _MARKED.findall(text)}

    def fill(found: re.Match[str]) -> str:
        return f"{found[1]}{table('' if found[2] == _WHOLE else found[2], described, blocks)}"

    return _MARKED.sub(fill, text)


def main(page: Path) -> None:
    page.write_text(with_tables(page.read_text()))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
