"""``spec.overrides``: other values, outputs and limits for some topics of the group."""

import re
from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from logpersister.forms.constraint import Model, Regex, Unique
from logpersister.forms.problems import Finding, PathStep
from logpersister.forms.rule import exactly_one, refuses
from logpersister.manifest.blocks.kafka import TopicName
from logpersister.manifest.blocks.keep import Conditions
from logpersister.manifest.blocks.output import OutputSpec
from logpersister.manifest.blocks.table import ONE_FOR_SEVERAL, TOPIC, TableName
from logpersister.manifest.blocks.upload import MaxAge, MaxBytes
from logpersister.values.key import KeySpec
from logpersister.values.quarantine import QuarantineSpec
from logpersister.values.value import ValueSpec

MOST_OVERRIDES = 50


class UploadLimits(Model):
    """Other limits; those that are left out are the group's."""

    max_bytes: MaxBytes | None = None
    """Replaces `upload.maxBytes`."""

    max_age: MaxAge | None = None
    """Replaces `upload.maxAge`."""

    @refuses
    def _changes_something(self) -> Iterator[Finding]:
        if self.max_bytes is None and self.max_age is None:
            yield Finding("changes nothing", "set maxBytes, maxAge or both, or remove it")


class OtherTable(Model):
    """Another table; what is not here is that of the group."""

    name: TableName
    """Replaces `table.name`. Without `{topic}` only in an entry of a single topic."""


class Override(Model):
    """What is different for some topics."""

    topics: Annotated[tuple[TopicName, ...], Field(min_length=1, max_length=100), Unique()] | None = None
    """Topics of this entry by name. Exactly one of `topics` and `topicPattern` is needed."""

    topic_pattern: Regex | None = None
    """Topics of this entry by regular expression, as `spec.kafka.topicPattern`."""

    value: ValueSpec | None = None
    """Replaces `spec.value` as a whole, and `spec.types` by none."""

    key: KeySpec | None = None
    """Replaces `spec.key` as a whole."""

    quarantine: QuarantineSpec | None = None
    """Replaces `spec.quarantine` as a whole."""

    output: OutputSpec | None = None
    """Replaces `spec.output` as a whole, also its folders."""

    upload: UploadLimits | None = None
    """Replaces limits of `spec.upload`."""

    keep: Conditions | None = None
    """Replaces `spec.keep` as a whole; `[]`: all records are stored."""

    table: OtherTable | None = None
    """Another table (docs/tables.md#when-a-table-stops)."""

    def names(self, topic: str) -> bool:
        """Whether the entry is about a topic. The first one that is applies."""
        if self.topics is not None:
            return topic in self.topics
        return self.topic_pattern is not None and re.search(self.topic_pattern, topic) is not None

    @property
    def blocks(self) -> frozenset[PathStep]:
        """The blocks of the spec that it replaces."""
        names = ("value", "key", "quarantine", "output", "upload", "keep", "table")
        return frozenset(name for name in names if getattr(self, name) is not None)

    _topics_are_named_in_one_way = exactly_one("topics", "topicPattern")

    @refuses
    def _changes_something(self) -> Iterator[Finding]:
        if not self.blocks:
            yield Finding("changes nothing", "set value, key, output, upload, keep or table, or remove it")

    @refuses
    def _each_topic_has_its_table(self) -> Iterator[Finding]:
        if self.table is not None and TOPIC not in self.table.name and len(self.topics or ()) != 1:
            remedy = "put the placeholder of the topic into it, or write an entry for each topic"
            yield Finding(ONE_FOR_SEVERAL, remedy, ("table", "name"))
