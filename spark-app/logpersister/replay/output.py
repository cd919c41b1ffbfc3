"""Parser, layout and format of a revision for the records of a topic, as a member would use them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from logpersister.formats.base import Format
from logpersister.formats.registry import format_of
from logpersister.manifest import LogPersister
from logpersister.manifest.revisions.revision import Revision
from logpersister.manifest.spec import Spec
from logpersister.pipeline.room import Room
from logpersister.records.late import lateness_of
from logpersister.records.left_out import refusing_left_out
from logpersister.records.topic_layout import TopicLayout, WritersOf, layout_for


@dataclass(frozen=True, slots=True)
class TopicOutput:
    """Reads and writes the records of a topic as a revision does."""

    revision: str
    document: Mapping[str, Any]
    """Snapshot of the revision."""
    layout: TopicLayout
    """Layout of records that are not late."""
    file_format: Format
    room: Room
    spec: Spec
    """Spec of the topic, with its overrides."""

    def layout_at(self, horizon: int | None, *, keeps_left_out: bool = False) -> TopicLayout:
        """Return the layout of records of which those came late whose folders were finished by then.

        `keeps_left_out`: whether those that the revision leaves out stay in quarantine.
        """
        layout = self.layout.with_lateness(lateness_of(self.spec, horizon))
        return refusing_left_out(layout) if keeps_left_out else layout

    @classmethod
    def of(cls, revision: Revision, resource: LogPersister, writers_of: WritersOf) -> Self:
        """Return what a resource, which is that of the revision, does."""
        spec = resource.spec
        file_format = format_of(spec)
        return cls(
            revision.hash,
            revision.document,
            layout_for(spec, writers_of),
            file_format,
            Room.of(spec.storage.part_size, file_format.held_back),
            spec,
        )
