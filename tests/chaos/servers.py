"""What can go wrong with the servers themselves. Of several brokers, one at a time is disturbed."""

import time
from dataclasses import dataclass, field

from tests.chaos.disturbances import Disturbance, InBackground
from tests.chaos.stage import Stage
from tests.stack.server import Server
from tests.stack.topics import add_partitions

MOST_PARTITIONS = 8
"""How far a topic grows."""


@dataclass(eq=False, kw_only=True)
class ServerFault(Disturbance):
    """A server is stopped, killed or frozen, and comes back."""

    server: str
    """``broker``, ``minio``, ``registry`` or ``catalog``."""
    how: str
    """``stop`` (SIGTERM), ``kill`` (-9) or ``freeze``."""
    which: float = 0.0
    """0 to 1: which of several brokers."""
    _victim: Server = field(init=False, repr=False)

    @property
    def name(self) -> str:
        return f"{self.server}-{self.how}"

    def ready(self, stage: Stage) -> bool:
        if self.server in stage.busy:
            return False
        return stage.kafka.serves() if self.server == "broker" else stage.servers[self.server].serves()

    def begin(self, stage: Stage) -> str:
        victim = self._victim = self._choose(stage)
        stage.busy.add(self.server)
        if self.how == "stop":
            victim.stop()
        elif self.how == "kill":
            victim.kill()
        else:
            victim.suspend()
        return f"{victim.name} for {self.seconds:.1f} s"

    def end(self, stage: Stage) -> str:
        if self.how == "freeze":
            self._victim.resume()
        else:
            self._victim.launch()
        stage.busy.discard(self.server)
        return f"{self._victim.name} {'goes on' if self.how == 'freeze' else 'starts again'}"

    def _choose(self, stage: Stage) -> Server:
        if self.server != "broker":
            return stage.servers[self.server]
        return stage.brokers[int(self.which * len(stage.brokers))]


@dataclass(eq=False, kw_only=True)
class CoordinatorFault(ServerFault):
    """The broker is the one that coordinates a group."""

    server: str = "broker"

    @property
    def name(self) -> str:
        return f"coordinator-{self.how}"

    def _choose(self, stage: Stage) -> Server:
        return stage.cluster.coordinator(stage.chosen_group(self.which))


@dataclass(eq=False, kw_only=True)
class BrokerRoll(InBackground):
    """All brokers are restarted, one after the other, each when the others have all that it has."""

    name = "broker-roll"

    def ready(self, stage: Stage) -> bool:
        return "broker" not in stage.busy and stage.kafka.serves()

    def begin(self, stage: Stage) -> str:
        stage.busy.add("broker")
        self.start(stage)
        return f"{len(stage.brokers)} brokers"

    def end(self, stage: Stage) -> str:
        stage.busy.discard("broker")
        super().end(stage)
        return "all are back, and in sync"

    def work(self, stage: Stage) -> None:
        stage.cluster.roll()


@dataclass(eq=False, kw_only=True)
class PartitionsGrow(Disturbance):
    """A topic gets one partition more."""

    name = "partitions-grow"
    which: float

    def ready(self, stage: Stage) -> bool:
        return "broker" not in stage.busy and self._topic(stage) is not None and stage.kafka.serves()

    def begin(self, stage: Stage) -> str:
        topic = self._topic(stage)
        assert topic is not None, "ready() has just said so"
        stage.partitions[topic] += 1
        stage.grown[topic, stage.partitions[topic] - 1] = time.time()
        add_partitions(stage.kafka.bootstrap, topic, stage.partitions[topic])
        return f"{topic} has {stage.partitions[topic]}"

    def _topic(self, stage: Stage) -> str | None:
        # Of a topic that is held for its schema, a partition without a row would begin with what holds the others.
        free = (topic.name for topic in stage.settings.topics if topic.name not in stage.busy)
        growing = [name for name in free if stage.partitions[name] < MOST_PARTITIONS]
        return growing[int(self.which * len(growing))] if growing else None
