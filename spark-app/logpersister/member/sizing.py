"""Estimates the size of ranges as objects: learned from what was stored, at first from a sample."""

from collections.abc import Callable
from concurrent.futures import Future
from typing import Final

import structlog

from logpersister.aside import Aside
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
PATIENCE_SECONDS: Final = 2.0
"""How long a turn waits for samples. Kafka, or a registry that knows the schemas of values, may be silent."""
MOST_SAMPLES: Final = 32
"""Samples on their way."""


class Sizing:
    """Feeds `Sizes`. ``clock`` gives monotonic seconds."""

    def __init__(self, spec: Spec, sampler: Sampler, clock: Callable[[], float], aside: Aside) -> None:
        self._spec = spec
        self._sampler = sampler
        self._clock = clock
        self._aside = aside
        self._sample_at: dict[str, float] = {}
        self._sampling: dict[str, Future[tuple[int, int] | None]] = {}
        self.sizes = Sizes()

    def learn(self, range_: Range, stored_bytes: int) -> None:
        """Take in what a range became."""
        topic = range_.partition.topic
        half_life = self._spec.limits_of(topic).max_bytes
        self.sizes.learn(topic, offsets=range_.offsets, stored_bytes=stored_bytes, half_life_bytes=half_life)

    def is_sampled(self, partition: TopicPartition, position: Offset) -> bool:
        """Sample a topic of which nothing is known yet, now and then; return False while that is under way."""
        topic = partition.topic
        if self.sizes.knows(topic):
            return True
        sampling = self._sampling.get(topic)
        if sampling is None:
            if self._clock() < self._sample_at.get(topic, 0.0):
                return True
            running = sum(not one.done() for one in self._sampling.values())
            if running == MOST_SAMPLES:
                return False
            self._sample_at[topic] = self._clock() + SAMPLE_AGAIN_SECONDS
            seconds = 0.0 if running else PATIENCE_SECONDS
            sampling = self._aside(lambda: self._sampler.sample(partition, position), seconds)
            self._sampling[topic] = sampling
        if not sampling.done():
            return False
        del self._sampling[topic]
        self._take(topic, sampling)
        return True

    def _take(self, topic: str, sampling: "Future[tuple[int, int] | None]") -> None:
        try:
            sample = sampling.result()
        except Exception as error:  # without a sample the first ranges are only sized less well
            log.warning("topic.not_sampled", topic=topic, error=in_words(error))
            return
        if sample is not None:
            offsets, stored_bytes = sample
            self.sizes.learn(topic, offsets=offsets, stored_bytes=stored_bytes, half_life_bytes=SAMPLE_HALF_LIFE)
