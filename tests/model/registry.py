"""The schema registry: versions of the schema of each topic, of which only the number counts."""

from tests.model.chronicle import Chronicle


class Registry:
    """What producers have registered. A record that is in Kafka has a registered schema."""

    def __init__(self, chronicle: Chronicle) -> None:
        """Begin with a first version for each topic."""
        self._chronicle = chronicle
        self.versions: dict[str, int] = {}
        """Of topics that have more than the first, the latest."""

    def latest(self, topic: str) -> int:
        return self.versions.get(topic, 1)

    def register(self, topic: str) -> int:
        """Register a further version, which can read all records of the ones before; return it."""
        version = self.versions[topic] = self.latest(topic) + 1
        self._chronicle.tell("producer", "registers version {} of the schema of {}", version, topic)
        return version
