"""Checks that the fields of ``spec.output.partitionBy`` are in ``spec.value``, and can name folders. Pure."""

import re
from collections.abc import Container, Iterator, Mapping
from typing import Final

from logpersister.forms.notation import epoch_unit
from logpersister.forms.problems import Finding, PathStep
from logpersister.manifest.blocks.partition_rule import DateRule, PartitionRule
from logpersister.schemas.types import WHOLE, Plain, Timestamp, Type
from logpersister.values.row_schema import RowSchema, no_field

NO_FOLDERS: Final = "cannot name folders"
_MOST_PREFIX_BYTES: Final = 127
"""Longest prefix before a value: with a value of 120 bytes it is a name that each file system takes."""
_ALLOWED: Final[Mapping[str, tuple[Container[str], str]]] = {
    "field": ({"string", "bool", *WHOLE}, "text, a whole number or bool"),
    "lower": ({"string"}, "text"),
    "truncate": ({"string", *WHOLE}, "text or a whole number"),
    "bucket": ({"string", *WHOLE}, "text or a whole number"),
}


def folder_findings(level: PartitionRule, index: int, schema: RowSchema) -> Iterator[Finding]:
    """Yield what is wrong with the field that a level of folders names."""
    at: tuple[PathStep, ...] = ("output", "partitionBy", index)
    if level.date is not None:
        if level.date.field is not None:
            yield from _date_findings(level.date, level.date.field, (*at, "date"), schema)
        return
    kind = next((kind for kind in _ALLOWED if getattr(level, kind) is not None), None)
    if kind is None or level.source is None:
        return
    names, words = _ALLOWED[kind]
    where = (*at, kind, "field") if kind in ("truncate", "bucket") else (*at, kind)
    found = schema.type_at(level.source)
    if not isinstance(found, Plain) or found.name not in names:
        yield _finding(level.source, found, words, where, schema)
    elif (
        not level.folder_prefix[0].isalnum()
        or re.search("[@$]", level.folder_prefix)
        or (len(level.folder_prefix.encode()) > _MOST_PREFIX_BYTES)
    ):
        told = (
            f"{NO_FOLDERS}, which begin with a letter or digit, have no @ or $, and at most {_MOST_PREFIX_BYTES} bytes"
        )
        yield Finding(told, "set prefix, for example value=", where, f'"{level.source}"')


def _date_findings(date: DateRule, field: str, at: tuple[PathStep, ...], schema: RowSchema) -> Iterator[Finding]:
    found, subject = schema.type_at(field), f'"{field}"'
    if field in schema.hidden_texts:
        told = f"{NO_FOLDERS} by time: it is hidden"
        yield Finding(told, "name another field, or do not hash or mask it", (*at, "field"), subject)
    elif isinstance(found, Timestamp) or found == Plain("date"):
        if date.format is not None:
            told = f"{NO_FOLDERS}: {field} is {found}, which says its time by itself"
            yield Finding(told, "remove it", (*at, "format"), f'"{date.format}"')
        if found == Plain("date") and date.granularity in ("hour", "minute"):
            told, remedy = f"{NO_FOLDERS}: {field} is a date, which has no hours", "set it to day"
            yield Finding(told, remedy, (*at, "granularity"), f'"{date.granularity}"')
        if found == Plain("date") and date.timezone != "UTC":
            told, remedy = f"{NO_FOLDERS}: {field} is a date, the same in all time zones", "remove it"
            yield Finding(told, remedy, (*at, "timezone"), f'"{date.timezone}"')
    elif not isinstance(found, Plain) or found.name not in {"string", *WHOLE}:
        yield _finding(field, found, "a timestamp, a date, text or a whole number", (*at, "field"), schema)
    elif date.format is None:
        told = f"{NO_FOLDERS} by time: it is {found}, and nothing says what time its values are"
        example = "iso8601" if found == Plain("string") else "epoch[ms]"
        yield Finding(told, f"set format beside it, for example {example}", (*at, "field"), subject)
    elif found != Plain("string") and epoch_unit(date.format) is None:
        told = f"{NO_FOLDERS}: it is a notation of text, and {field} is {found}"
        yield Finding(told, "write epoch[s], epoch[ms], epoch[us] or epoch[ns]", (*at, "format"), f'"{date.format}"')


def _finding(path: str, found: Type | None, wanted: str, at: tuple[PathStep, ...], schema: RowSchema) -> Finding:
    if found is None:
        told, remedy = no_field(path, schema)
        return Finding(f"{NO_FOLDERS}: {told}", remedy, at, f'"{path}"')
    return Finding(
        f"{NO_FOLDERS}: it is not {wanted}", "name another field of spec.value, or give it that type", at, f'"{path}"'
    )
