"""How the records of a topic become objects: one immutable value for members, ``try``, verification and replays.

It is made of what a revision stores, so whoever has the document of a revision has the same value
(docs/design/values.md#compiled-once).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from logpersister.compiled.formats import TopicFormats, formats_of
from logpersister.manifest.spec import Spec
from logpersister.records.late import Lateness
from logpersister.records.topic_layout import TopicLayout, WritersOf, judging_for, layout_for
from logpersister.records.type_folders import AnyFolders, folders_by_time


@dataclass(frozen=True)  # without slots, so that what takes time is made once, and only where it is needed
class CompiledTopic:
    """How the records of a topic become objects."""

    spec: Spec
    """Spec of the topic, without overrides."""
    writers_of: WritersOf
    """Returns the schemas by which values were written that name them."""
    field_ids: Mapping[str, int] | None = None
    """Numbers by which the table of the topic knows its columns; None: it has no table."""
    field_ids_of_types: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Numbers of the columns of types with tables, by the values of their folders."""

    @cached_property
    def layout(self) -> TopicLayout:
        """Type and path of each record, where none is late. Raises ManifestError without the key of hashes."""
        return layout_for(self.spec, self.writers_of)

    @cached_property
    def judging(self) -> TopicLayout:
        """Layout without folders: it tells only which records are left out, and asks for no key."""
        return judging_for(self.spec, self.writers_of)

    @cached_property
    def formats(self) -> TopicFormats:
        """Formats of the objects, by their paths."""
        return formats_of(self.spec, self.field_ids, self.field_ids_of_types)

    @property
    def is_verbatim(self) -> bool:
        """Whether objects hold record batches as they stand in Kafka."""
        return self.spec.output.format == "kafka"

    @cached_property
    def _late_folders(self) -> AnyFolders | None:
        return None if self.spec.late == "append" else folders_by_time(self.spec)

    def lateness_at(self, horizon: int | None) -> Lateness | None:
        """Return where late records of a range go, by its watermark; None: none is late, or they stand with others."""
        folders = self._late_folders
        if folders is None or horizon is None:
            return None
        return Lateness(folders, horizon, self.spec.quarantines_late)

    def layout_at(self, horizon: int | None, *, keeps_left_out: bool = False) -> TopicLayout:
        """Return the layout of a range with a watermark.

        `keeps_left_out`: whether records that the revision leaves out stay in quarantine, as in a replay.
        """
        layout = self.layout.with_lateness(self.lateness_at(horizon))
        return layout.refusing_left_out() if keeps_left_out else layout
