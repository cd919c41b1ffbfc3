"""How much is done to whom in a run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tests.chaos import readings, sales
from tests.chaos.choices import Choices
from tests.chaos.outputs import FILES, OUTPUTS, TEXT, Output, outputs
from tests.chaos.producer import ROW_TOPICS, TOPICS, Topic

_SESSION_SECONDS = {1: 6, 3: 20}
"""By the number of brokers: the shortest that the manifest allows; and with three, long enough for a member that is
killed to come back within it, and for the coordinator to move."""


def crews(*names: str) -> dict[str, int]:
    """Return how many members some groups have, all by default."""
    return {name: OUTPUTS[name].members for name in names or OUTPUTS}


@dataclass(frozen=True)
class Settings:
    """How much is done to whom."""

    seed: int
    kills: int = 20
    """At least so many ``kill -9`` of members; those of their Python workers alone do not count."""
    seconds: float = 600.0
    """Disturbances go on for at least so long."""
    crews: Mapping[str, int] = field(default_factory=crews)
    """Members by output."""
    choices: Choices = field(default_factory=Choices)
    """What of tables, late records, conditions, schemas, parsers and formats there is."""
    brokers: int = 3
    """1 or 3."""
    oldest: bool = False
    """Whether the three are of the oldest release that is promised."""
    spark: bool = False
    """Whether Spark compacts the table and reads it in the end; otherwise pyiceberg compacts it."""
    pause: tuple[float, float] = (1.0, 8.0)
    """Seconds between the beginnings of two disturbances."""
    settle_seconds: float = 480.0
    """How long the lag may take to be worked off in the end."""

    @property
    def session_seconds(self) -> int:
        return _SESSION_SECONDS[self.brokers]

    @property
    def outputs(self) -> list[Output]:
        return [output for output in outputs(self.choices).values() if output.name in self.crews]

    def output(self, name: str) -> Output:
        return outputs(self.choices)[name]

    def outputs_of(self, topic: str) -> list[Output]:
        """Return those that store a topic."""
        return [output for output in self.outputs if any(one.name == topic for one in output.topics)]

    @property
    def topics(self) -> Sequence[Topic]:
        """All that are produced to."""
        used = {topic.name for output in self.outputs for topic in output.topics}
        return [topic for topic in (*TOPICS, *ROW_TOPICS) if topic.name in used]

    @property
    def has_plain_values(self) -> bool:
        return any(output.topics is TOPICS for output in self.outputs)

    @property
    def has_rows(self) -> bool:
        """Whether there are sales and events, and so a registry."""
        return any(output.topics is not TOPICS for output in self.outputs)

    @property
    def has_table(self) -> bool:
        return any(output.has_table for output in self.outputs)

    @property
    def leaves_out(self) -> bool:
        """Whether conditions leave out sales."""
        return self.choices.keeps and bool(self.outputs_of(sales.TOPIC))

    @property
    def has_incompatible_version(self) -> bool:
        """Whether a version of the schema of sales can read none before it."""
        return self.choices.incompatible != "never" and bool(self.outputs_of(sales.TOPIC))

    @property
    def has_readings(self) -> bool:
        return bool(self.outputs_of(readings.TOPIC))

    @property
    def has_backup(self) -> bool:
        """Whether a group stores records as Kafka has them, so that topics can be restored."""
        return self.choices.files == "kafka" and FILES.name in self.crews

    @property
    def has_history(self) -> bool:
        """Whether there is a group, too, that is stored again from it."""
        return self.has_backup and TEXT.name in self.crews

    @property
    def has_hive(self) -> bool:
        """Whether that table is in a Hive metastore."""
        return self.has_table and self.choices.table == "hive"

    @property
    def has_iceberg(self) -> bool:
        return self.has_table and not self.has_hive

    @property
    def limit_seconds(self) -> float:
        """When a run that does not get its kills done is given up."""
        return self.seconds + 120.0 * (self.kills + 2)
