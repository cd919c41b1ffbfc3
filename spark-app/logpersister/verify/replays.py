"""Which objects of a range are live where quarantine was replayed (`replay.protocol` says when). Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from logpersister.ranges import Span
from logpersister.storage.names import head, parse_object_key
from logpersister.storage.replays import Replay, Source


@dataclass(frozen=True, slots=True)
class NotedReplay:
    """The note of a replay, as it was found before and after objects were listed."""

    source_key: str
    replay: Replay
    keys: Mapping[str, int]
    """Objects of the replay, and how many records each has; empty while it is not settled."""
    settled_before: bool
    """Whether it was settled before objects were listed: then all of its objects must be in the listing."""

    @classmethod
    def of(cls, prefix: str, before: Iterable[Replay], after: Iterable[Replay]) -> list[Self]:
        """Return all that were found after the listing."""
        settled = {replay.source.path for replay in before if replay.settled}
        return [
            cls(head(prefix) + replay.source.path, replay, replay.keys(prefix), replay.source.path in settled)
            for replay in after
        ]


class Replays:
    """The replays of one partition, beside the names of all its objects."""

    def __init__(self, noted: Sequence[NotedReplay], listed: Iterable[str]) -> None:
        self.noted = noted
        self._listed = frozenset(listed)
        self._by_source = {one.source_key: one for one in noted}
        self._by_id = {one.replay.id: one for one in noted}

    def of_source(self, key: str) -> NotedReplay | None:
        """Return the replay of an object in quarantine."""
        return self._by_source.get(key)

    def by_id(self, replay: str) -> NotedReplay | None:
        """Return the replay that objects name."""
        return self._by_id.get(replay)

    def is_settled(self, one: NotedReplay) -> bool:
        """Whether the records are in the objects of a replay, as far as the listing shows them."""
        return one.replay.settled and (one.settled_before or one.source_key not in self._listed)

    def is_replaced(self, key: str) -> bool:
        """Whether an object was replayed, so that its records are live elsewhere."""
        found = self.of_source(key)
        return found is not None and self.is_settled(found)

    def missing(self, one: NotedReplay) -> list[str]:
        """Return the objects of a replay that should be there and are not."""
        if not one.settled_before:
            return []
        return [key for key in one.keys if key not in self._listed and not self.is_replaced(key)]

    def of_member(self, span: Span, generation: int) -> NotedReplay | None:
        """Return the replay of the quarantine that a member has written for a range."""
        for one in self.noted:
            source, name = one.replay.source, parse_object_key("", one.replay.source.path)
            is_of_range = (source.range.start, source.range.end, source.generation) == (*span, generation)
            if is_of_range and name is not None and name.replay is None:
                return one
        return None

    def horizon_of(self, source: Source) -> int | None:
        """Return by which horizon late records were put into an object in quarantine; None: none were."""
        name = parse_object_key("", source.path)
        origin = None if name is None or name.replay is None else self.by_id(name.replay)
        return source.horizon if origin is None else origin.replay.horizon

    def lost(self, one: NotedReplay) -> bool:
        """Whether the source was deleted though the replay was not settled, even when it was looked at last."""
        return not one.replay.settled and one.source_key not in self._listed
