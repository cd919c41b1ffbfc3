"""From pydantic's JSON schema to the structural schema that Kubernetes wants.

https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema

No references, no titles, no alternatives of types, no ``additionalProperties: false`` (unknown fields are refused by
field validation, which kubectl asks for), and **no defaults**: the API server would write them into the stored object,
where they outlive the version that chose them and make a resource differ from what Git says. The model fills them in
alike for the operator and for ``logpersister run``; descriptions name them.
"""

import re
from collections.abc import Mapping
from typing import Any

from logpersister.manifest.constraint import BOUNDS, matches
from logpersister.manifest.rule import VALIDATIONS

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


def with_rules_for_patterns(schema: Schema) -> Schema:
    """Leave out each pattern whose text a rule refuses alike.

    The API server tells of both, of the pattern first and without a word on what to write.
    """
    told = {entry["rule"] for entry in schema.get(VALIDATIONS, ())}
    found = {
        key: value
        for key, value in schema.items()
        if key != "pattern" or told.isdisjoint(matches(text, value, "")["rule"] for text in ("self", "string(self)"))
    }
    if isinstance(schema.get("properties"), dict):
        found["properties"] = {name: with_rules_for_patterns(one) for name, one in schema["properties"].items()}
    return found | {
        key: with_rules_for_patterns(schema[key]) for key in ("items", "additionalProperties") if key in schema
    }


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
    rule, words = (_SELF.sub("key", entry.get(name, "")) for name in ("rule", "messageExpression"))
    said = {"messageExpression": f"self.filter(key, !({rule})).map(key, {words})[0]"} if words else {}
    return {**entry, "rule": f"self.all(key, {rule})", **said}
