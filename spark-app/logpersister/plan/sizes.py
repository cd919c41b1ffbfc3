"""Learned sizes: how many stored bytes one offset of a topic costs, so that ranges end near ``maxBytes``."""

from dataclasses import dataclass

UNKNOWN_BYTES_PER_OFFSET = 256.0
"""Assumed until a topic was sampled or written once; only the hint of how to pack work depends on it then."""


@dataclass(slots=True)
class _Topic:
    stored_bytes: float
    offsets: float


class Sizes:
    """Decayed sums of stored bytes and offsets per topic.

    A range weighs as much as it stored: one object of ``maxBytes`` halves what was known before, a trickle of small
    objects (which compress worse) hardly moves it.
    """

    def __init__(self) -> None:
        self._topics: dict[str, _Topic] = {}

    def knows(self, topic: str) -> bool:
        return topic in self._topics

    def bytes_per_offset(self, topic: str) -> float:
        """Return the estimated stored bytes of one offset, at least a thousandth of a byte."""
        known = self._topics.get(topic)
        return max(known.stored_bytes / known.offsets, 0.001) if known else UNKNOWN_BYTES_PER_OFFSET

    def estimate(self, topic: str, offsets: int) -> int:
        """Return the estimated stored bytes of a range of ``offsets``."""
        return round(offsets * self.bytes_per_offset(topic))

    def learn(self, topic: str, *, offsets: int, stored_bytes: int, half_life_bytes: int) -> None:
        """Take in what a range of ``offsets`` became. Ranges without records teach nothing."""
        if stored_bytes <= 0 or offsets <= 0:
            return
        known = self._topics.get(topic)
        if known is None:
            self._topics[topic] = _Topic(float(stored_bytes), float(offsets))
            return
        kept = 0.5 ** (stored_bytes / half_life_bytes)
        known.stored_bytes = known.stored_bytes * kept + stored_bytes
        known.offsets = known.offsets * kept + offsets

    def forget(self, topic: str) -> None:
        self._topics.pop(topic, None)
