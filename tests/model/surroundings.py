"""Everything that a member lives in."""

from dataclasses import dataclass

from tests.model.bucket import Bucket
from tests.model.chronicle import Chronicle
from tests.model.decisions import Decisions
from tests.model.finished import Finished
from tests.model.jobs import Spark
from tests.model.kafka import Coordinator, Kafka
from tests.model.registry import Registry
from tests.model.rules import Rules


@dataclass
class Surroundings:
    """The world, as far as members see it."""

    kafka: Kafka
    coordinator: Coordinator
    bucket: Bucket
    registry: Registry
    spark: Spark
    finished: Finished
    chronicle: Chronicle
    rules: Rules
    decisions: Decisions
    grace_seconds: float
    """How long a revocation waits for ranges that are being executed."""
