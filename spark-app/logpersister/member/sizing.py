"""Estimates the size of ranges as objects: learned from what was stored, at first from a sample."""

from collections.abc import Callable

import structlog

from logpersister.kafka_client.causes import in_words
from logpersister.manifest.spec import Spec
from logpersister.member.ports import Sampler
from logpersister.plan.sizes import Sizes
from logpersister.ranges import Offset, Range, TopicPartition

log = structlog.get_logger(__name__)

SAMPLE_HALF_LIFE = 1 << 40
"""A sample is only a first guess: whatever is really written outweighs it."""
SAMPLE_AGAIN_SECONDS = 60.0
"""A topic that could not be sampled (no right to read it, no record yet) must not take the time of the others."""


class Sizing:
    """Feeds `Sizes`. ``clock`` gives monotonic seconds."""

    def __init__(self, spec: Spec, sampler: Sampler, clock: Callable[[], float]) -> None:
        self._spec = spec
        self._sampler = sampler
        self._clock = clock
        self._sample_at: dict[str, float] = {}
        self.sizes = Sizes()

    def learn(self, range_: Range, stored_bytes: int) -> None:
        """Take in what a range became."""
        topic = range_.partition.topic
        half_life = self._spec.limits_of(topic).max_bytes
        self.sizes.learn(topic, offsets=range_.offsets, stored_bytes=stored_bytes, half_life_bytes=half_life)

    def sample(self, partition: TopicPartition, position: Offset) -> None:
        """Sample a topic of which nothing is known yet, now and then."""
        topic = partition.topic
        if self.sizes.knows(topic) or self._clock() < self._sample_at.get(topic, 0.0):
            return
        self._sample_at[topic] = self._clock() + SAMPLE_AGAIN_SECONDS
        try:
            sample = self._sampler.sample(partition, position)
        except Exception as error:  # without a sample the first ranges are only sized less well
            log.warning("topic.not_sampled", topic=topic, error=in_words(error))
            return
        if sample is not None:
            offsets, stored_bytes = sample
            self.sizes.learn(topic, offsets=offsets, stored_bytes=stored_bytes, half_life_bytes=SAMPLE_HALF_LIFE)
