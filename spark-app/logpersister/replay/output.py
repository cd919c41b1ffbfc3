"""How a revision reads and writes the records of a topic: what a member would do with them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from logpersister.formats.base import Format
from logpersister.formats.registry import make_format
from logpersister.manifest import LogPersister
from logpersister.manifest.revision import Revision
from logpersister.manifest.spec import Spec
from logpersister.pipeline.room import Room
from logpersister.records.columns import most_rows
from logpersister.records.parsers import Parser
from logpersister.records.paths import Layout
from logpersister.records.quarantine import layout_of, make_parser
from logpersister.records.writers import Writers


@dataclass(frozen=True, slots=True)
class TopicOutput:
    """How a revision reads and writes the records of a topic."""

    revision: str
    document: Mapping[str, Any]
    """Its snapshot."""
    parser: Parser | None
    """None: any value is good."""
    layout: Layout
    file_format: Format
    most_rows: int | None
    """How many records are parsed at once; None: any number."""
    room: Room
    spec: Spec
    """Of the topic."""

    @classmethod
    def of(cls, revision: Revision, resource: LogPersister, writers: Writers | None) -> Self:
        """Return what a resource, which is that of the revision, does."""
        spec = resource.spec
        parsing = spec.parser, spec.row_schema
        file_format = make_format(spec.output, *parsing)
        return cls(
            revision.hash,
            revision.document,
            make_parser(*parsing, writers),
            layout_of(spec.output, *parsing, writers),
            file_format,
            None if spec.row_schema is None else most_rows(spec.row_schema),
            Room.of(spec.storage.part_size, file_format.held_back),
            spec,
        )
