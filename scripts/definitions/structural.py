"""From pydantic's JSON schema to the structural schema that Kubernetes wants.

https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema

No references, no titles, no alternatives of types, no ``additionalProperties: false`` (unknown fields are refused by
field validation, which kubectl asks for), and **no defaults**: the API server would write them into the stored object,
where they outlive the version that chose them and make a resource differ from what Git says. The model fills them in
alike for the operator and for ``logpersister run``; descriptions name them.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

from logpersister.forms.constraint import BOUNDS, matches
from logpersister.forms.rule import VALIDATIONS

Schema = dict[str, Any]

_KEPT = (
    "type",
    "format",
    "enum",
    "pattern",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "maxProperties",
    "x-kubernetes-int-or-string",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-preserve-unknown-fields",
    VALIDATIONS,
)
"""Keywords that mean the same in both."""
_SELF = re.compile(r"\bself\b")
_DROPPED = frozenset({"title", "default", "description", "$defs", "additionalProperties", "required", BOUNDS})
_CONVERTED = frozenset({"$ref", "anyOf", "const", "properties", "items", "propertyNames", "patternProperties"})


def structural(schema: Mapping[str, Any]) -> Schema:
    """Return a schema of pydantic as a structural one; raise `ValueError` for a keyword that is not known here."""
    return _convert(schema, schema.get("$defs", {}))


def everywhere(schema: Schema, change: Callable[[Schema], Schema]) -> Schema:
    """Return a structural schema with a change of it, and of those of all that is in it."""
    found = change(schema)
    if isinstance(found.get("properties"), dict):
        found = found | {"properties": {name: everywhere(one, change) for name, one in found["properties"].items()}}
    return found | {key: everywhere(found[key], change) for key in ("items", "additionalProperties") if key in found}


def with_rules_for_patterns(schema: Schema) -> Schema:
    """Leave out each pattern whose text a rule refuses alike.

    The API server tells of both, of the pattern first and without a word on what to write.
    """
    return everywhere(schema, _with_rules_for_pattern)


def _with_rules_for_pattern(schema: Schema) -> Schema:
    rules = [entry["rule"] for entry in schema.get(VALIDATIONS, ())]
    return {
        key: value
        for key, value in schema.items()
        if key != "pattern" or not any(rule.startswith(_matches(value)) for rule in rules)
    }


def _matches(pattern: str) -> tuple[str, str]:
    return matches("self", pattern, "")["rule"], matches("string(self)", pattern, "")["rule"]


def _convert(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Schema:
    source = _resolved(schema, definitions)
    if unknown := set(source) - _DROPPED - _CONVERTED - set(_KEPT):
        raise ValueError(f"no structural schema has a word for {', '.join(sorted(unknown))}")
    found: Schema = {}
    if description := _description(schema, source):
        found["description"] = description
    found |= {key: source[key] for key in _KEPT if key in source}
    if "const" in source:
        found["enum"] = [source["const"]]
    if found.get("type") == "integer" and "maximum" not in found:
        found.setdefault("format", "int64")
    if source.get("x-kubernetes-int-or-string"):
        found |= {"anyOf": [{"type": "integer"}, {"type": "string"}]}
    if source.get("required"):
        found["required"] = sorted(source["required"])
    if "items" in source:
        found["items"] = _convert(source["items"], definitions)
    if "properties" in source:
        found["properties"] = {name: _convert(below, definitions) for name, below in source["properties"].items()}
    elif isinstance(source.get("additionalProperties"), dict):
        found["additionalProperties"] = _convert(source["additionalProperties"], definitions)
    for below in source.get("patternProperties", {}).values():  # a pattern of keys, which is among their rules too
        found["additionalProperties"] = _convert(below, definitions)
        found[VALIDATIONS] = [*found.get(VALIDATIONS, []), *_rules_of_keys(source["propertyNames"])]
    return found


def _resolved(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what a reference means, and what an optional field has when it is set."""
    if "$ref" in schema:
        return _resolved(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    if schema.get("x-kubernetes-int-or-string") or "anyOf" not in schema:
        return schema
    choices = [choice for choice in schema["anyOf"] if choice.get("type") != "null"]
    if len(choices) != 1:
        raise ValueError(f"a structural schema has one type for a value, not {len(choices)}")
    return _resolved(choices[0], definitions)


def _description(schema: Mapping[str, Any], resolved: Mapping[str, Any]) -> str:
    """Return what the field says of itself (or its type), with its default, on one line.

    Kubernetes shows it in ``kubectl explain``.
    """
    text = " ".join(str(schema.get("description", resolved.get("description", ""))).split())
    if bounds := resolved.get(BOUNDS):
        text += f" {bounds[0].upper()}{bounds[1:]}."
    default = schema.get("default")
    if default in (None, [], {}) or isinstance(default, dict):
        return text
    shown = str(default).lower() if isinstance(default, bool) else str(default)
    return f"{text} Default: {shown if shown.strip() else _quoted(shown)}."


def _quoted(text: str) -> str:
    return '"' + text.replace("\n", "\\n") + '"'


def _rules_of_keys(names: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return what is said about the keys of a map as rules on the map: a structural schema has no propertyNames."""
    longest = names["maxLength"]
    size = {"rule": f"self.size() <= {longest}", "message": f"has a name of more than {longest} characters; shorten it"}
    return [_rule_of_keys(entry) for entry in (size, *names[VALIDATIONS])]


def _rule_of_keys(entry: Mapping[str, str]) -> dict[str, str]:
    return {**entry, "rule": f"self.all(key, {_SELF.sub('key', entry['rule'])})"}
