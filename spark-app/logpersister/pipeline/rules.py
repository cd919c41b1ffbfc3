"""Versions of the rules by which a build places records: name of the object, folder, accepted or refused.

A range must become the same objects whoever executes it. The spec alone does not say which: two builds of one version
may have other editions of tzdata, other rules for paths, another check of JSON. So each rule that a spec uses has a
version of its own, noted in the revision's document and thus in its hash. Whoever has other rules than the document
compares before he writes (`pipeline.dry_run`).

Not among them: compression and sizes. Where objects end is promised as offsets, so they decide no more than bytes.
"""

from collections.abc import Mapping
from importlib.metadata import version
from typing import Any, Final

from logpersister.formats import registry
from logpersister.forms.notation import RFC3339, epoch_unit
from logpersister.manifest import LogPersister
from logpersister.manifest.hiding_key import fingerprint
from logpersister.manifest.secrets import Secrets
from logpersister.manifest.spec import Spec
from logpersister.records import (
    field_paths,
    field_times,
    frames,
    hiding,
    keeping,
    key_folders,
    keyed_rows,
    late,
    paths,
    type_names,
)
from logpersister.records.zones import WITHOUT_RULES, zone_rules
from logpersister.schemas.types import Plain
from logpersister.storage import names
from logpersister.values import rows
from logpersister.values.faults import REFUSED
from logpersister.values.json import document_parser
from logpersister.values.parser import Parsing
from logpersister.values.reading import native_rows
from logpersister.values.row_schema import RowSchema

Rules = Mapping[str, int | str]
"""Versions by the name of the rule, or what stands for a version."""

_PARSERS: Final = {"json": document_parser.RULES}
_KEYS: Final = {"text": rows.RULES["regex"], **rows.RULES}
_ZONE: Final = "zone:"

_FIRST: Final = 1
_FIRST_TZDATA: Final = "2026.6"
"""What the release had that noted no rules."""


def rules_of(resource: LogPersister) -> Rules:
    """Return the rules of this build that a manifest uses, and no others: those change nothing for it."""
    rules: dict[str, int | str] = {"names": names.RULES}
    if resource.spec.has_types:
        rules["types"] = type_names.RULES
    if any(one.keep for one in (resource.spec, *resource.spec.of_types())):
        rules["keep"] = keeping.RULES
    if resource.spec.late != "append":
        rules["late"] = late.RULES
    if resource.spec.keeps_all_in_quarantine:
        rules["format:parquet"] = registry.RULES["parquet"]
    for spec in resource.spec.of_types():
        rules |= _rules_of(spec)
    return dict(sorted(rules.items()))


def _rules_of(spec: Spec) -> dict[str, int | str]:
    output, parser = spec.output, spec.parser
    rules: dict[str, int | str] = {f"format:{output.format}": registry.RULES[output.format]}
    if output.partition_by:
        rules["paths"] = paths.RULES
    if output.partitions_by_fields:
        rules["paths:fields"] = field_paths.RULES
    if output.format == "archive" or any(level.key is not None for level in output.partition_by):
        rules["keys:names"] = key_folders.RULES
    if _reads_times(spec):
        rules["times"] = field_times.RULES
    zones = {rule.date.timezone for rule in output.partition_by if rule.date is not None} - WITHOUT_RULES
    rules |= {_ZONE + zone: zone_rules(zone) for zone in zones}
    if spec.row_schema.has_columns:
        rules[f"rows:{parser.type}"] = rows.RULES[parser.type]
        if _adjusts(parser, spec.row_schema):
            rules["rows:faults"] = native_rows.FAULT_RULES
        rules |= _hiding_rules(spec.row_schema)
        rules |= _key_rules(spec.row_schema)
    elif parser.has_quarantine:
        rules[f"parser:{parser.type}"] = _PARSERS[parser.type]
    return rules


def _reads_times(spec: Spec) -> bool:
    dates = [rule.date for rule in spec.output.partition_by if rule.date is not None]
    schema = spec.row_schema
    types = {date.field: schema.type_at(date.field) for date in dates if date.field is not None}
    of_keys = () if schema.key is None else schema.key.schema.columns
    notations = [one.format for one in (*schema.columns, *of_keys)]
    return (
        any(date.format is not None for date in dates)
        or Plain("date") in types.values()
        or any(one not in (None, RFC3339) and epoch_unit(one) is None for one in notations)
    )


def _adjusts(parser: Parsing, schema: RowSchema) -> bool:
    has_defaults = any(one.column.default is not None for one in schema.fields or ())
    return parser.faults != REFUSED or parser.rest is not None or has_defaults


def _hiding_rules(schema: RowSchema) -> Rules:
    found: dict[str, int | str] = {} if schema.hash is None and not schema.mask else {"rows:hiding": hiding.RULES}
    return found if schema.hash is None else found | {"rows:hiding:key": fingerprint(schema.hash, Secrets())}


def _key_rules(schema: RowSchema) -> Rules:
    added: dict[str, int | str] = {}
    if schema.head is not None:
        added = {"rows:head": keyed_rows.RULES, "heads:protobuf": rows.RULES["protobuf"]}
    if schema.numbers:
        added["rows:numbers"] = frames.NUMBER_RULES
    if schema.key is None:
        return added
    return added | {"rows:key": keyed_rows.RULES, f"keys:{schema.key.parser}": _KEYS[schema.key.parser]}


def noted_rules(document: Mapping[str, Any], ours: Rules) -> Rules:
    """Return the rules of the document of a revision, of which `ours` are those of this build.

    A document without any is of the last release that noted none.
    """
    noted: Rules | None = document.get("rules")
    if noted is not None:
        return noted
    same_zones = version("tzdata") == _FIRST_TZDATA
    return {
        rule: (own if same_zones else f"of tzdata {_FIRST_TZDATA}") if rule.startswith(_ZONE) else _FIRST
        for rule, own in ours.items()
    }


def other_rules(document: Mapping[str, Any], resource: LogPersister) -> str:
    """Return which build wrote by the rules of a revision, and in what they differ from ours; empty when they agree."""
    ours = rules_of(resource)
    return _told(document, _differences(noted_rules(document, ours), ours))


def begun_by_others(document: Mapping[str, Any], resource: LogPersister) -> str:
    """Return which build may have written objects of a revision by other rules than ours; empty when none can have."""
    original = document.get("original")
    if original is None:
        return other_rules(document, resource)
    return _told(document, _differences(original["rules"], rules_of(resource)) or "others have had it meanwhile")


def _told(document: Mapping[str, Any], differences: str) -> str:
    return f"logpersister {document['codeVersion']} under other rules: {differences}" if differences else ""


def _differences(noted: Rules, ours: Rules) -> str:
    return ", ".join(
        f"{rule} (there {noted.get(rule, 'none')}, here {ours.get(rule, 'none')})"
        for rule in sorted({*noted, *ours})
        if noted.get(rule) != ours.get(rule)
    )
