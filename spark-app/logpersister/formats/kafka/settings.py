"""``spec.output.kafka``."""

from typing import Literal

from logpersister.forms.constraint import Model


class KafkaSegmentSpec(Model):
    """Record batches as brokers sent them, still compressed by producers; nothing is parsed or told apart."""

    @property
    def compression(self) -> Literal["none"]:
        return "none"

    @property
    def tombstones(self) -> Literal["null"]:
        return "null"
