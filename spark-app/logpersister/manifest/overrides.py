"""``spec.overrides``: other parsers, schemas, outputs and limits for some topics of the group."""

import re
from typing import Annotated

from pydantic import Field

from logpersister.manifest.constraint import Model, Regex, Unique
from logpersister.manifest.kafka import TopicName
from logpersister.manifest.keep import Conditions
from logpersister.manifest.output import OutputSpec
from logpersister.manifest.parser import ParserSpec
from logpersister.manifest.problems import PathStep
from logpersister.manifest.row_schema import SchemaSpec
from logpersister.manifest.rule import rule
from logpersister.manifest.table import ONE_FOR_SEVERAL, TOPIC, TableName
from logpersister.manifest.upload import MaxAge, MaxBytes

MOST_OVERRIDES = 50


class UploadLimits(Model):
    """Other limits; those that are left out are the group's."""

    max_bytes: MaxBytes | None = None
    """Replaces `upload.maxBytes`."""

    max_age: MaxAge | None = None
    """Replaces `upload.maxAge`."""

    @rule("has(self.maxBytes) || has(self.maxAge)", "changes nothing", "set maxBytes, maxAge or both, or remove it")
    def _changes_something(self) -> bool:
        return self.max_bytes is not None or self.max_age is not None


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

    parser: ParserSpec | None = None
    """Replaces `spec.parser`, and `spec.schema` by none unless the entry has a schema."""

    row_schema: SchemaSpec | None = Field(default=None, alias="schema")
    """Replaces `spec.schema` as a whole."""

    output: OutputSpec | None = None
    """Replaces `spec.output` as a whole, also its folders."""

    upload: UploadLimits | None = None
    """Replaces limits of `spec.upload`."""

    keep: Conditions | None = None
    """Replaces `spec.keep` as a whole; `[]`: all records are stored."""

    table: OtherTable | None = None
    """Another table, such as where the names of two topics differ only by characters that tables lack."""

    def names(self, topic: str) -> bool:
        """Whether the entry is about a topic. The first one that is applies."""
        if self.topics is not None:
            return topic in self.topics
        return self.topic_pattern is not None and re.search(self.topic_pattern, topic) is not None

    @property
    def blocks(self) -> frozenset[PathStep]:
        """The blocks of the spec that it replaces; a parser replaces the schema, too, by none."""
        set_here = {
            "parser": self.parser,
            "schema": self.row_schema,
            "output": self.output,
            "upload": self.upload,
            "keep": self.keep,
            "table": self.table,
        }
        return frozenset(name for name, block in set_here.items() if block is not None)

    @rule(
        "has(self.topics) != has(self.topicPattern)",
        "is not exactly one of topics and topicPattern",
        "name the topics in one way",
    )
    def _topics_are_named_in_one_way(self) -> bool:
        return (self.topics is None) != (self.topic_pattern is None)

    @rule(
        "has(self.parser) || has(self.schema) || has(self.output) || has(self.upload) || has(self.keep)"
        " || has(self.table)",
        "changes nothing",
        "set parser, schema, output, upload, keep or table, or remove it",
    )
    def _changes_something(self) -> bool:
        return bool(self.blocks)

    @rule(
        f"!has(self.table) || self.table.name.contains('{TOPIC}') || has(self.topics) && self.topics.size() == 1",
        ONE_FOR_SEVERAL,
        "put the placeholder of the topic into it, or write an entry for each topic",
        *("table", "name"),
    )
    def _each_topic_has_its_table(self) -> bool:
        return self.table is None or TOPIC in self.table.name or len(self.topics or ()) == 1
