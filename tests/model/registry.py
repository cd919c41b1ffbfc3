"""The schema registry: versions of the schema of each topic, of which only the number counts."""

from tests.model.chronicle import Chronicle


class Registry:
    """What producers have registered. A record that is in Kafka has a registered schema."""

    def __init__(self, chronicle: Chronicle) -> None:
        """Begin with a first version for each topic."""
        self._chronicle = chronicle
        self.versions: dict[str, int] = {}
        """Of topics that have more than the first, the latest."""
        self.incompatible: set[tuple[str, int]] = set()
        """Topics with versions that can read none before them."""

    def latest(self, topic: str) -> int:
        return self.versions.get(topic, 1)

    def register(self, topic: str, *, is_compatible: bool = True) -> int:
        """Register a further version, which can read all records of the ones before, or none; return it."""
        version = self.versions[topic] = self.latest(topic) + 1
        if not is_compatible:
            self.incompatible.add((topic, version))
        which = "" if is_compatible else ", which can read none before it"
        self._chronicle.tell("producer", "registers version {} of the schema of {}{}", version, topic, which)
        return version

    def can_read(self, topic: str, version: int, before: int) -> bool:
        """Whether rows can be made by a version of all records of another one, and of those between."""
        return version <= before or (topic, version) not in self.incompatible

    def to_mend(self) -> list[str]:
        """Return the topics whose latest version can read none before it."""
        return sorted(topic for topic, version in self.incompatible if version == self.latest(topic))
