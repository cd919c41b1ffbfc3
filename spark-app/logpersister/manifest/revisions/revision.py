"""The revision: what identifies a running application, and what a member of another version needs to finish its work.

The hash is over the canonical JSON of what the spec says beside its defaults, the resource's name, the version of our
code and of the rules that decide which object a record is in. The document is stored in the bucket before the first
intent of the revision, so that whoever takes over executes the intent as it was meant (design: exactly once by
intents). It never holds a secret: the spec only names them.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from logpersister.forms.problems import ManifestError
from logpersister.forms.sparse import sparse
from logpersister.manifest.blocks.table import TOPIC
from logpersister.manifest.kubernetes_resource import API_VERSION
from logpersister.manifest.load import parse
from logpersister.manifest.resource import KIND, LogPersister

HASH_DIGITS = 12

EXCLUDED = (
    ("autoRepair",),
    ("autoscale",),
    ("image",),
    ("members",),
    ("networkPolicy",),
    ("podTemplate",),
    ("rollout",),
    ("spark", "executorPodTemplate"),
    ("targetLag",),
)
"""Fields of the spec that make no new revision.

``members`` says how many processes do the work, not what a process does: the operator adds or removes some of the same
revision. The others only the operator reads: they say what pods look like, how they are replaced and what is reported,
so an intent can be executed without them, and a change of a node selector must not become part of what is promised in
Kafka. (A changed pod template replaces the pods all the same: the operator compares it apart.) Pod templates must not
be in a revision's document for another reason: it is stored in the bucket, and environment variables hold what they
hold.

``image`` is what runs the revision: to the operator it is the version of the code, which counts apart.

Everything else is part of the revision, also what names no object and fills no byte (``upload``, ``spark``,
``cycleInterval``): a running process takes it up only by being replaced, and replacing is what a new revision is.
Of the metadata only the name counts: it is the default of the group. Labels and annotations change nothing, and a
rotated Secret keeps its name.
"""

_NOT_OF_THE_MANIFEST = ("codeVersion", "rules", "original", "table", "tables")
_PLACE = ("bucket", "prefix")
_OF_THE_PLACE = (*_PLACE, "acl", "encryption", "partSize", "storageClass")
"""What a revision that stores elsewhere asks for there; the rest of ``storage`` says how to reach it."""
_SECRET = ("secretName",)
_SPARK = ("spark",)
_ACCESS_TO_KAFKA = ("bootstrapServers", "security", "clientRack")
_OF_REGISTRIES = {"avro": "schema", "protobuf": "schema", "json": "jsonSchema"}
"""Field for the text of a registry's schema, by the kind of values."""


class RevisionError(Exception):
    """A stored revision that this version cannot execute."""


@dataclass(frozen=True, slots=True)
class Revision:
    """A resolved resource with the code that runs it."""

    hash: str
    """First 12 hexadecimal digits of the SHA-256 of `canonical_json` of the document."""
    document: dict[str, Any]
    """``{"kind", "metadata": {"name"}, "spec", "codeVersion", "rules"}`` of JSON values, without what equals its
    default (`sparse`); and perhaps ``original``, see `under_rules`, and ``table`` or ``tables``, see `table_binding`. A
    version of the API is none of what is written."""

    def canonical_json(self) -> bytes:
        """The document as it is hashed and stored."""
        return _canonical_json(self.document)


def revision_of(resource: LogPersister, code_version: str, rules: Mapping[str, int | str] | None = None) -> Revision:
    """Return the revision of a resource that is run by a version of our code.

    Args:
        rules: of the build that runs it (`pipeline.rules`); None where nothing is executed, as in the operator, whose
            own rules must not change what it thinks of members.
    """
    spec = sparse(resource.spec)
    for path in EXCLUDED:
        _remove(spec, path)
    # Defaults that depend on another part: resolved here, so that the document means the same without it.
    spec["kafka"]["groupId"] = resource.group_id
    spec["storage"]["pathStyle"] = resource.spec.storage.uses_path_style
    return revision_of_document(
        {
            "kind": KIND,
            "metadata": {"name": resource.name},
            "spec": spec,
            "codeVersion": code_version,
            **({} if rules is None else {"rules": dict(rules)}),
        }
    )


def under_rules(
    document: Mapping[str, Any], revision: str, noted: Mapping[str, int | str], rules: Mapping[str, int | str]
) -> Revision:
    """Return what a revision, which has `noted` rules, becomes when a build with other rules promises its ranges anew.

    ``original`` is the revision under which they were promised first, with its rules. It tells two things: some of
    their objects may have been written under other rules, so that they are compared before anything is written; and
    objects go on naming that revision as theirs, so that all objects of an intent name one.
    """
    original = document.get("original", {"revision": revision, "rules": dict(noted)})
    return revision_of_document({**document, "rules": dict(rules), "original": original})


@dataclass(frozen=True, slots=True)
class OutputSchema:
    """The schema by which rows are made, where it comes from a registry."""

    version: int
    text: str
    """Text as ``schema`` or ``jsonSchema`` of a value has it."""


def with_output_schema(document: Mapping[str, Any], schema: OutputSchema) -> Revision:
    """Return the revision of a document with the schema that a registry has: a manifest that needs to ask nobody.

    Ranges are promised under it, so whoever executes them, now or again, makes the same rows (docs/design/registry.md).
    """
    return revision_of_document({**document, "spec": _with_schema(document["spec"], schema)})


def resource_with(resource: LogPersister, schema: OutputSchema) -> LogPersister:
    """Return a resource whose columns a registry has, with one schema of it. Raises ManifestError."""
    spec = _with_schema(sparse(resource.spec), schema)
    return parse({"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": resource.name}, "spec": spec})


def _with_schema(spec: Mapping[str, Any], schema: OutputSchema) -> dict[str, Any]:
    value: Mapping[str, Any] = spec["value"]
    kind = next(one for one in _OF_REGISTRIES if one in value)
    registry = {**value[kind].get("registry", {}), "version": schema.version}
    block = {**value[kind], _OF_REGISTRIES[kind]: schema.text, "registry": registry}
    return {**spec, "value": {**value, kind: block}}


def output_schema_of(document: Mapping[str, Any]) -> OutputSchema | None:
    """Return the schema that `with_output_schema` has put into a document, if it has."""
    value = document["spec"].get("value", {})
    for kind, field in _OF_REGISTRIES.items():
        block = value.get(kind, {})
        version, text = block.get("registry", {}).get("version"), block.get(field)
        if isinstance(version, int) and isinstance(text, str):
            return OutputSchema(version, text)
    return None


def original_of(document: Mapping[str, Any], revision: str) -> str:
    """Return the revision that objects name as theirs, of the document of a revision."""
    return str(document.get("original", {}).get("revision", revision))


def revision_of_document(document: Mapping[str, Any]) -> Revision:
    """Return the revision of a stored document as it is, of whatever version: its hash tells whether it is whole."""
    copy: dict[str, Any] = json.loads(_canonical_json(document))
    return Revision(hashlib.sha256(_canonical_json(copy)).hexdigest()[:HASH_DIGITS], copy)


def reached_like(document: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document of a revision with our own ways to the brokers and to the bucket, and our Spark.

    Names and content of objects do not depend on them. Ways may not work any more, or never did: keys that were
    revoked and replaced under another name, or those of a canary that was withdrawn because its uploads were refused.
    A revision that stores elsewhere still does so, by our way: that was good enough to find its snapshot there.
    """
    spec, ours = document["spec"], own["spec"]
    kafka = _only(ours["kafka"], _ACCESS_TO_KAFKA) | _without(spec["kafka"], _ACCESS_TO_KAFKA)
    storage = ours["storage"]
    if _only(spec["storage"], _PLACE) != _only(storage, _PLACE):
        storage = _without(storage, _OF_THE_PLACE) | _only(spec["storage"], _OF_THE_PLACE)
    reached = {**_without(spec, _SPARK), **_only(ours, _SPARK), "kafka": kafka, "storage": storage}
    reached |= _registry_reached(spec, ours)
    if "types" in spec:
        types = spec["types"]
        reached["types"] = {**types, "entries": [{**one, **_registry_reached(one, ours)} for one in types["entries"]]}
    return {**document, "spec": reached}


def _registry_reached(block: Mapping[str, Any], ours: Mapping[str, Any]) -> dict[str, Any]:
    """Return value and key of a block with our way to their registries, where that is another one."""
    found: dict[str, Any] = {}
    for name, kind, registry in _registries(block):
        secrets = list(_secrets_of_registry(registry.get("url"), ours))
        if secrets and _only(registry, _SECRET) not in secrets:
            reached = _without(registry, _SECRET) | secrets[0]
            found[name] = {**block[name], kind: {**block[name][kind], "registry": reached}}
    return found


def _registries(block: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yield the registries that value and key of a block name, with where they stand."""
    for name in ("value", "key"):
        for kind in _OF_REGISTRIES:
            registry = block.get(name, {}).get(kind, {}).get("registry")
            if registry is not None:
                yield name, kind, registry


def _secrets_of_registry(url: str | None, spec: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield by which Secrets a manifest reaches a registry: that of the group, then those of overrides and types."""
    for one in (spec, *spec.get("overrides", []), *spec.get("types", {}).get("entries", [])):
        yield from (_only(registry, _SECRET) for _, _, registry in _registries(one) if registry["url"] == url)


def resource_of(document: Mapping[str, Any]) -> LogPersister:
    """Rebuild the resource from the document of a revision, perhaps one that another version wrote.

    Fields that it does not name have their default: one that was added since must mean what older versions did.
    Raises `RevisionError` when the document has what this version does not know: executing it without would write
    other bytes than were promised.
    """
    version = document.get("codeVersion")
    if not isinstance(version, str):
        raise RevisionError("the revision has no codeVersion: it was not written by logpersister, or is damaged")
    try:
        manifest = {key: value for key, value in document.items() if key not in _NOT_OF_THE_MANIFEST}
        return _parsed({"apiVersion": API_VERSION, **manifest})
    except ManifestError as error:
        reason = str(error)
    raise RevisionError(
        f"the revision was written by logpersister {version} and this version cannot execute it; "
        f"run a member of version {version} until its intents are done. What is wrong:\n{reason}"
    )


def _parsed(document: Mapping[str, Any]) -> LogPersister:
    """Parse a manifest, perhaps that of one topic of several, with a table of its own by ``spec.overrides``."""
    spec = document.get("spec")
    table = spec.get("table") if isinstance(spec, dict) else None
    name = table.get("name") if isinstance(table, dict) else None
    if not isinstance(name, str) or TOPIC in name:
        return parse(document)
    found = parse(
        {**document, "spec": {**document["spec"], "table": {**document["spec"]["table"], "name": name + TOPIC}}}
    )
    assert found.spec.table is not None
    own = found.spec.table.model_copy(update={"name": name})
    return found.model_copy(update={"spec": found.spec.model_copy(update={"table": own})})


def _only(document: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: value for name, value in document.items() if name in names}


def _without(document: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: value for name, value in document.items() if name not in names}


def _remove(document: dict[str, Any], path: Sequence[str]) -> None:
    """Remove a field, and what is empty without it: that equals its default."""
    name, *below = path
    if below and name in document:
        _remove(document[name], below)
    if not below or document.get(name) == {}:
        document.pop(name, None)


def _canonical_json(document: Mapping[str, Any]) -> bytes:
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode()
