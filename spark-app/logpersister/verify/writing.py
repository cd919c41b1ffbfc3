"""How a revision writes records: by the layout and the format that members use."""

from dataclasses import dataclass
from functools import cached_property

from logpersister.formats.base import Format
from logpersister.formats.quarantine import format_at
from logpersister.formats.registry import format_of
from logpersister.manifest.spec import Spec
from logpersister.records.late import lateness_of
from logpersister.records.left_out import refusing_left_out
from logpersister.records.topic_layout import TopicLayout, WritersOf, judging_for, layout_for


@dataclass(frozen=True)  # without slots, so that what takes time is made once, and only where it is needed
class Writing:
    """How a revision writes records."""

    spec: Spec
    """Spec of the topic, without overrides."""
    writers_of: WritersOf
    """Returns the schemas by which values were written that name them."""
    other_rules: str = ""
    """Who wrote by other rules than ours, and by which: then what differs proves nothing. Empty: nobody."""

    def layout_at(self, horizon: int | None, *, keeps_left_out: bool = False) -> TopicLayout:
        """Return in which path each record belongs, in a range with a horizon. Raises ManifestError without its key.

        `keeps_left_out`: whether it is that of a replay which keeps in quarantine what the revision leaves out.
        """
        layout = self._layout.with_lateness(lateness_of(self.spec, horizon))
        return refusing_left_out(layout) if keeps_left_out else layout

    @cached_property
    def judging(self) -> TopicLayout:
        """The same without folders: it tells only which records are left out, and asks for no key."""
        return judging_for(self.spec, self.writers_of)

    def format_at(self, path: str) -> Format:
        """Return the format of the objects of a path."""
        return format_at(self._format, path)

    @cached_property
    def _format(self) -> Format:
        return format_of(self.spec)

    @cached_property
    def _layout(self) -> TopicLayout:
        return layout_for(self.spec, self.writers_of)
