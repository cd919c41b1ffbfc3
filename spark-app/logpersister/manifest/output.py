"""``spec.output``: what objects look like inside, and how they are laid out in folders.

A new format is: its name in `Format`, a row in `COMPRESSIONS`, a block of its own settings in `OutputSpec`.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from logpersister.manifest.constraint import Integer, Model, Text
from logpersister.manifest.problems import Finding, refuse, refuse_all

Format = Literal["text", "sequencefile"]
Compression = Literal["none", "gzip", "deflate", "zstd"]

COMPRESSIONS: Mapping[str, tuple[Compression, ...]] = {
    "text": ("gzip", "zstd", "none"),
    "sequencefile": ("deflate", "none"),
}
"""What each format allows; its default first."""


@cache
def _timezones() -> frozenset[str]:
    """Return the names that the pinned tzdata knows: never the machine's own files, which differ between machines."""
    return frozenset(resources.files("tzdata").joinpath("zones").read_text().split())


def _check_timezone(name: str) -> None:
    if name not in _timezones():
        raise refuse("is not a time zone", "write UTC, or a name of the IANA database such as Europe/Berlin")


def _check_delimiter(text: str) -> None:
    if not 1 <= len(text.encode()) <= 16:
        raise refuse("is not 1 to 16 bytes long", 'write for example "\\n" in double quotes')


TimeZone = Annotated[
    str,
    Text(
        r"^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$",
        "is not a time zone",
        "write UTC, or a name of the IANA database such as Europe/Berlin",
        64,
        _check_timezone,
    ),
]
FolderPrefix = Annotated[
    str,
    Text(
        r"^([A-Za-z0-9][A-Za-z0-9_.-]*=?)?$",
        "cannot begin a folder's name",
        "write for example dt= (letters, digits, -, ., _, and = at the end)",
        64,
    ),
]
Delimiter = Annotated[str, Text(r"^[\s\S]*$", "is not text", 'write for example "\\n"', 16, _check_delimiter)]


class TextSpec(Model):
    """Settings of format ``text``: one record after another, each value followed by the delimiter."""

    delimiter: Delimiter = "\n"
    """What follows each value. Set it when values contain line breaks, for example to `"\\u001e"`."""

    delimiter_in_value: Literal["keep", "escape"] = "keep"
    """What happens to a delimiter inside a value. `keep` stores the value as it is, and a reader sees two lines;
    `escape` makes every file unambiguous (docs/formats.md)."""

    tombstones: Literal["skip", "empty"] = "skip"
    """What happens to a record whose value is null. `skip` leaves it out; `empty` writes an empty line, which no
    reader can tell from an empty value."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.delimiter_in_value == "escape" and re.search(r"[A-Za-z0-9\\\\]", self.delimiter):
            raise refuse(
                "has a letter, digit or backslash, which escapes themselves contain",
                "choose another, or set delimiterInValue to keep",
                "delimiter",
            )
        return self


class SequenceFileSpec(Model):
    """Settings of format ``sequencefile``: Hadoop's container of keys and values."""

    key: Literal["longwritable", "messagepack"] = "longwritable"
    """What is kept beside the value. `longwritable`: the offset. `messagepack`: a map of offset, timestamp and the
    record's key (docs/formats.md)."""

    compression_type: Literal["record", "block"] = "block"
    """What is compressed at once: one value, or many records. `block` is much smaller; `record` is for readers that
    need it. Only with a compression."""

    tombstones: Literal["skip", "empty"] = "empty"
    """What happens to a record whose value is null. `skip` leaves it out; `empty` writes an empty value, which no
    reader can tell from one that was empty."""


class DateRule(Model):
    """A folder by the record's timestamp."""

    granularity: Literal["day", "hour", "minute"]
    """How much time one folder holds. Finer: a query reads less; coarser: fewer and larger objects. A level says what
    those outside of it have not said yet: day alone is `dt=2026-11-21`, day and then hour `dt=2026-11-21/hr=05`, hour
    alone `hr=2026-11-21-05`."""

    timezone: TimeZone = "UTC"
    """IANA time zone in which days and hours begin."""

    prefix: FolderPrefix | None = None
    """What precedes the value in the folder's name. Default: `dt=` for a day, `hr=` for an hour, `min=` for a
    minute."""


class OffsetRule(Model):
    """A folder by the record's offset."""

    every: Annotated[Integer, Field(ge=1, le=2**53)]
    """Offsets that share one folder, which is named after the first: `offset=20000000`."""


class PartitionRule(Model):
    """One level of folders; exactly one of its fields is set."""

    date: DateRule | None = None
    """A folder by the record's timestamp (`unknown` for records without a usable one)."""

    offset: OffsetRule | None = None
    """A folder by the record's offset."""

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if (self.date is None) == (self.offset is None):
            raise refuse("is not exactly one of date and offset", "write one entry of the list for each")
        return self


def _default_compression(so_far: dict[str, Any]) -> Compression:
    return COMPRESSIONS[so_far["format"]][0] if "format" in so_far else "none"


def _default_text(so_far: dict[str, Any]) -> TextSpec | None:
    return TextSpec() if so_far.get("format") == "text" else None


def _default_sequencefile(so_far: dict[str, Any]) -> SequenceFileSpec | None:
    return SequenceFileSpec() if so_far.get("format") == "sequencefile" else None


class OutputSpec(Model):
    """What is written. A change of anything here that readers would notice is a new ``generation``."""

    format: Format = "text"
    """File format. `text`: one value a line, for every tool. `sequencefile`: Hadoop's, keeps offsets, keys and any
    bytes."""

    compression: Compression = Field(default_factory=_default_compression)
    """Compression. For `text`: `gzip` (default; every tool reads it), `zstd` (smaller), `none`. For `sequencefile`:
    `deflate` (default), `none`."""

    text: TextSpec | None = Field(default_factory=_default_text)
    """Settings of format `text`; only with it."""

    sequencefile: SequenceFileSpec | None = Field(default_factory=_default_sequencefile)
    """Settings of format `sequencefile`; only with it."""

    partition_by: Annotated[tuple[PartitionRule, ...], Field(max_length=4)] = ()
    """Levels of folders below the topic, outermost first; `[]` for none. A range of offsets becomes one object per
    folder, so fine folders make small objects when timestamps are mixed."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        refuse_all(list(self._contradictions()))
        return self

    def _contradictions(self) -> Iterator[Finding]:
        allowed = COMPRESSIONS[self.format]
        if self.compression not in allowed:
            yield Finding(
                f"is not possible in format {self.format}",
                f"write one of: {', '.join(allowed)}",
                ("compression",),
                f'"{self.compression}"',
            )
        for block in COMPRESSIONS:
            if block != self.format and getattr(self, block) is not None:
                yield Finding(f"contradicts format {self.format}", f"remove it, or set format to {block}", (block,))
        if self.sequencefile and self.compression == "none" and self.sequencefile.compression_type != "block":
            yield Finding(
                "contradicts compression none",
                "remove it, or choose a compression",
                ("sequencefile", "compressionType"),
                f'"{self.sequencefile.compression_type}"',
            )
        if len(set(self.partition_by)) != len(self.partition_by):
            yield Finding("has the same level twice", "remove the repetition", ("partitionBy",))
