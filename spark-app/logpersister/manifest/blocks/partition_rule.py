"""One level of ``spec.output.partitionBy``: by what records are laid out in folders."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Annotated, Final, Literal

from logpersister.forms.constraint import Model, Text, Whole, must
from logpersister.forms.notation import Notation
from logpersister.forms.problems import Finding
from logpersister.forms.rule import exactly_one, refuses
from logpersister.values.names import FieldPath


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
            must(
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
SAME_FOLDER: Final = "has the folders of another level"
_KINDS = ("date", "offset", "key", "field", "lower", "truncate", "bucket")


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
    """Field of `spec.value` instead of the record's timestamp: a timestamp, for days a date, or with `format` text or
    a whole number.
    """

    format: Notation | None = None
    """How a field of text or whole numbers says its time, as `format` of fields."""

    prefix: FolderPrefix | None = None
    """Text before the value in the folder's name. Default: `year=`, `month=`, `dt=` for a day, `hr=` for an hour,
    `min=` for a minute."""

    @property
    def time(self) -> TimeField | None:
        """Where the time of a record is; None: in its timestamp."""
        return None if self.field is None else TimeField(tuple(self.field.split(".")), self.format)

    @refuses
    def _a_format_is_for_a_field(self) -> Iterator[Finding]:
        if self.format is not None and self.field is None:
            remedy = "name the field that is written so in field, or remove it"
            yield Finding("is set, and the record's timestamp needs none", remedy, ("format",))

    @property
    def folder_prefix(self) -> str:
        """Part of the folder's name before the value."""
        return _FOLDER_PREFIXES[self.granularity] if self.prefix is None else self.prefix


class OffsetRule(Model):
    """A folder by the record's offset."""

    every: Annotated[int, Whole(1, 2**53)]
    """Number of offsets per folder, which is named after the first: `offset=20000000`."""


class KeyRule(Model):
    """A folder by the record's key."""

    prefix: FolderPrefix = "key="
    """Text before the key in the folder's name."""


class TruncateRule(Model):
    """A folder by the beginning of a value."""

    field: FieldPath
    """Text or whole number of `spec.value`."""

    width: Annotated[int, Whole(1, 2**31 - 1)]
    """Characters of a text that the folder keeps, or the number to a multiple of which numbers are rounded down."""


class BucketRule(Model):
    """A folder by the hash of a value."""

    field: FieldPath
    """Text or whole number of `spec.value`."""

    count: Annotated[int, Whole(2, 10_000)]
    """Number of buckets: folders `0` to `count` - 1."""


class PartitionRule(Model):
    """One level of folders; exactly one of date, offset, key, field, lower, truncate and bucket is set."""

    date: DateRule | None = None
    """A folder by the record's timestamp (`unknown` for records without a usable one)."""

    offset: OffsetRule | None = None
    """A folder by the record's offset."""

    key: KeyRule | None = None
    """A folder by the record's key, such as the id of a feed (`unknown` for records without one)."""

    field: FieldPath | None = None
    """A folder by a field of `spec.value` (text, whole number or bool), for example `country` or `geo.country`."""

    lower: FieldPath | None = None
    """A folder by a text field of `spec.value`, with the letters A to Z in lower case."""

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
        if self.key is not None:
            return self.key.prefix
        if self.source is None:
            return "offset="
        kind = "_trunc" if self.truncate else "_bucket" if self.bucket else ""
        return f"{self.source.rsplit('.', 1)[-1]}{kind}=" if self.prefix is None else self.prefix

    _one_kind_is_named = exactly_one(*_KINDS)

    @refuses
    def _a_prefix_is_for_fields(self) -> Iterator[Finding]:
        if self.prefix is not None and self.source is None:
            told, remedy = "is only for levels by a field", "remove it; a date and a key have a prefix of their own"
            yield Finding(told, remedy, ("prefix",))


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
            told = f"{SAME_FOLDER}: {prefix} is that of partitionBy[{before}], too"
            yield Finding(told, "give one of them a prefix of its own", ("partitionBy", index))
