"""One level of ``spec.output.partitionBy``: by what records are laid out in folders."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Annotated, Final, Literal

from logpersister.manifest.constraint import Condition, Model, Text, Whole
from logpersister.manifest.notation import Notation
from logpersister.manifest.problems import Finding
from logpersister.manifest.rule import NotInCel, rule
from logpersister.manifest.types import FIELD_PATH


@cache
def _timezones() -> frozenset[str]:
    """Return the names that the pinned tzdata knows: never the machine's own files, which differ between machines."""
    return frozenset(resources.files("tzdata").joinpath("zones").read_text().split())


TimeZone = Annotated[
    str,
    Text(
        r"^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$",
        "is not a time zone",
        "write UTC, or a name of the IANA database such as Europe/Berlin",
        64,
        conditions=(
            Condition(
                NotInCel("there are 600 names, and more with each edition of the database"),
                lambda name: name in _timezones(),
                "is no time zone of the IANA database",
                "write UTC, or a name of the IANA database such as Europe/Berlin",
            ),
        ),
    ),
]
_FOLDER_PREFIXES: Mapping[str, str] = {
    "year": "year=",
    "month": "month=",
    "day": "dt=",
    "hour": "hr=",
    "minute": "min=",
}
FolderPrefix = Annotated[
    str,
    Text(
        r"^([A-Za-z0-9][A-Za-z0-9_.-]*=?)?$",
        "cannot begin a folder's name",
        "write for example dt= (letters, digits, -, ., _, and = at the end)",
        64,
    ),
]
ValuePrefix = Annotated[
    str,
    Text(
        r"^[A-Za-z0-9][A-Za-z0-9_.-]*=$",
        "cannot begin a folder's name",
        "write for example country= (letters, digits, -, ., _, and = at the end)",
        64,
    ),
]
FieldPath = Annotated[
    str,
    Text(
        FIELD_PATH,
        "is not the path of a field",
        "write names of spec.schema with dots between them, for example geo.country",
        253,
    ),
]
SAME_FOLDER: Final = "has the folders of another level"
_KINDS = ("date", "offset", "field", "lower", "truncate", "bucket")


@dataclass(frozen=True, slots=True)
class TimeField:
    """A field of the rows that says when something was."""

    path: tuple[str, ...]
    notation: str | None = None
    """How its texts or numbers say it; None: it is a timestamp or a date."""

    def __str__(self) -> str:
        return ".".join(self.path) + ("" if self.notation is None else f" as {self.notation}")


class DateRule(Model):
    """A folder by the record's timestamp, or by a timestamp of its value."""

    granularity: Literal["year", "month", "day", "hour", "minute"]
    """Time span of one folder. Each level adds what the levels above it leave open: `day` then `hour` gives
    `dt=2026-11-21/hr=05`, `hour` alone `hr=2026-11-21-05`.
    """

    timezone: TimeZone = "UTC"
    """IANA time zone in which days and hours begin."""

    field: FieldPath | None = None
    """Field of `spec.schema` instead of the record's timestamp: a timestamp, for days a date, or with `format` text or
    a whole number.
    """

    format: Notation | None = None
    """How a field of text or whole numbers says its time, as `spec.schema.fields[].format`."""

    prefix: FolderPrefix | None = None
    """Text before the value in the folder's name. Default: `year=`, `month=`, `dt=` for a day, `hr=` for an hour,
    `min=` for a minute."""

    @property
    def time(self) -> TimeField | None:
        """Where the time of a record is; None: in its timestamp."""
        return None if self.field is None else TimeField(tuple(self.field.split(".")), self.format)

    @rule(
        "!has(self.format) || has(self.field)",
        "is set, and the record's timestamp needs none",
        "name the field that is written so in field, or remove it",
        "format",
    )
    def _a_format_is_for_a_field(self) -> bool:
        return self.format is None or self.field is not None

    @property
    def folder_prefix(self) -> str:
        """Part of the folder's name before the value."""
        return _FOLDER_PREFIXES[self.granularity] if self.prefix is None else self.prefix


class OffsetRule(Model):
    """A folder by the record's offset."""

    every: Annotated[int, Whole(1, 2**53)]
    """Number of offsets per folder, which is named after the first: `offset=20000000`."""


class TruncateRule(Model):
    """A folder by the beginning of a value."""

    field: FieldPath
    """Text or whole number of `spec.schema`."""

    width: Annotated[int, Whole(1, 2**31 - 1)]
    """Characters of a text that the folder keeps, or the number to a multiple of which numbers are rounded down. As
    Iceberg's `truncate`.
    """


class BucketRule(Model):
    """A folder by the hash of a value."""

    field: FieldPath
    """Text or whole number of `spec.schema`."""

    count: Annotated[int, Whole(2, 10_000)]
    """Number of buckets: folders `0` to `count` - 1. As Iceberg's `bucket`."""


class PartitionRule(Model):
    """One level of folders; exactly one of date, offset, field, lower, truncate and bucket is set."""

    date: DateRule | None = None
    """A folder by the record's timestamp (`unknown` for records without a usable one)."""

    offset: OffsetRule | None = None
    """A folder by the record's offset."""

    field: FieldPath | None = None
    """A folder by a field of `spec.schema` (text, whole number or bool), for example `country` or `geo.country`."""

    lower: FieldPath | None = None
    """A folder by a text field of `spec.schema`, with the letters A to Z in lower case."""

    truncate: TruncateRule | None = None
    """A folder by the beginning of a text field, or by a rounded number."""

    bucket: BucketRule | None = None
    """A folder by the hash of a field."""

    prefix: ValuePrefix | None = None
    """Text before the value in the folder's name. Default: the field's last name, such as `country=`, `country_trunc=`,
    `country_bucket=`. Only with a field.
    """

    @property
    def source(self) -> str | None:
        """The path of the field that it is about, times aside; None: none."""
        of_rule = self.truncate or self.bucket
        return of_rule.field if of_rule else self.field or self.lower

    @property
    def folder_prefix(self) -> str:
        """Part of the folder's name before the value."""
        if self.date is not None:
            return self.date.folder_prefix
        if self.source is None:
            return "offset="
        kind = "_trunc" if self.truncate else "_bucket" if self.bucket else ""
        return f"{self.source.rsplit('.', 1)[-1]}{kind}=" if self.prefix is None else self.prefix

    @rule(
        f"[{', '.join(f'has(self.{kind})' for kind in _KINDS)}].filter(one, one).size() == 1",
        f"is not exactly one of {', '.join(_KINDS[:-1])} and {_KINDS[-1]}",
        "write one entry of the list for each",
    )
    def _exactly_one(self) -> bool:
        return sum(getattr(self, kind) is not None for kind in _KINDS) == 1

    @rule(
        "!has(self.prefix) || !has(self.date) && !has(self.offset)",
        "is only for levels by a field",
        "remove it; a date has a prefix of its own",
        "prefix",
    )
    def _a_prefix_is_for_fields(self) -> bool:
        return self.prefix is None or (self.date is None and self.offset is None)


def levels_of_same_folders(levels: Sequence[PartitionRule]) -> Iterator[Finding]:
    """Yield the levels by fields whose folders another level has, too."""
    others: dict[str, int] = {}
    for index, level in enumerate(levels):
        if level.source is None:
            others.setdefault(level.folder_prefix.lower(), index)
    for index, level in enumerate(levels):
        if level.source is None:
            continue
        prefix = level.folder_prefix
        before = others.setdefault(prefix.lower(), index)
        if before != index:
            name = re.sub("[^A-Za-z0-9_]", "_", level.source).lstrip("_")
            name = name if f"{name}=".lower() not in others else f"{name}_{index + 1}"
            told = f"{SAME_FOLDER}: {prefix} is that of partitionBy[{before}], too"
            yield Finding(told, f"give one of them a prefix of its own, for example {name}=", ("partitionBy", index))


SAME_LEVEL = """
has(one.date) && has(other.date)
&& one.date.granularity == other.date.granularity
&& (has(one.date.timezone) ? one.date.timezone : 'UTC') == (has(other.date.timezone) ? other.date.timezone : 'UTC')
&& (has(one.date.field) ? has(other.date.field) && one.date.field == other.date.field : !has(other.date.field))
&& (has(one.date.format) ? has(other.date.format) && one.date.format == other.date.format : !has(other.date.format))
&& (has(one.date.prefix) ? has(other.date.prefix) && one.date.prefix == other.date.prefix : !has(other.date.prefix))
|| has(one.offset) && has(other.offset) && one.offset.every == other.offset.every
""".strip().replace("\n", " ")
"""CEL: two levels are equal. (A level with neither field, or both, breaks a rule of its own.)"""
