"""``spec.upload``: when records become an object."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated

from pydantic import Field

from logpersister.manifest.constraint import Duration, Model, Regex, Size
from logpersister.manifest.problems import PathStep
from logpersister.manifest.rule import rule

MaxBytes = Annotated[int, Size("64Ki", "5Ti")]
MaxAge = Annotated[timedelta, Duration("1s", "30d")]


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one topic."""

    max_bytes: int
    """Size of a stored object at which a range is due."""
    max_age: timedelta
    """Age of the oldest record at which a range is due."""


class UploadOverride(Model):
    """Other limits for some topics."""

    topic_pattern: Regex
    """Topics of this entry: a regular expression, found anywhere in the name unless anchored with ^ and $."""

    max_bytes: MaxBytes | None = None
    """Replaces `upload.maxBytes`."""

    max_age: MaxAge | None = None
    """Replaces `upload.maxAge`."""

    @rule("has(self.maxBytes) || has(self.maxAge)", "changes nothing", "set maxBytes, maxAge or both, or remove it")
    def _changes_something(self) -> bool:
        return self.max_bytes is not None or self.max_age is not None


class UploadSpec(Model):
    """When records become an object: as soon as one of the limits is reached."""

    max_bytes: MaxBytes = 256 * 2**20
    """Approximate size of an object after compression. Larger: fewer objects, faster queries. Smaller: records of busy
    topics are visible sooner. It does not affect memory."""

    max_age: MaxAge = timedelta(minutes=15)
    """How long records wait at most until an object is written, plus up to one `cycleInterval`, since a member first
    saw them. Shorter: fresher data, more and smaller objects."""

    overrides: Annotated[tuple[UploadOverride, ...], Field(max_length=100)] = ()
    """Other limits for some topics; the first entry whose pattern matches a topic applies. `spec.overrides` can do the
    same and more, and takes its place: only one of the two can be set."""

    def for_topic(self, topic: str) -> Limits:
        """Return the limits of a topic: the first matching override, and the general ones for what it leaves out."""
        for override in self.overrides:
            if re.search(override.topic_pattern, topic):
                return Limits(
                    self.max_bytes if override.max_bytes is None else override.max_bytes,
                    self.max_age if override.max_age is None else override.max_age,
                )
        return Limits(self.max_bytes, self.max_age)

    def sizes(self) -> Iterator[tuple[tuple[PathStep, ...], int]]:
        """Yield each ``maxBytes`` with its field."""
        yield ("maxBytes",), self.max_bytes
        for index, override in enumerate(self.overrides):
            if override.max_bytes is not None:
                yield ("overrides", index, "maxBytes"), override.max_bytes

    def ages(self) -> Iterator[timedelta]:
        """Yield each ``maxAge``."""
        yield self.max_age
        yield from (override.max_age for override in self.overrides if override.max_age is not None)
