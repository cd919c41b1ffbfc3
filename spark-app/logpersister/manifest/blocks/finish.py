"""``spec.finish``: when folders by time are finished, and what tells readers so."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Annotated, Final, Literal

from pydantic import Field

from logpersister.forms.constraint import Duration, Flag, Model, Text, Unique
from logpersister.forms.problems import Finding
from logpersister.forms.rule import refuses
from logpersister.manifest.blocks.partition_rule import DateRule, PartitionRule, TimeField
from logpersister.manifest.blocks.telling import RecordSpec, WebhookSpec

Policy = Literal["successFile", "manifest", "done", "webhook", "kafka", "archive"]
ARCHIVE: Final[Policy] = "archive"
TELLING: Final[frozenset[Policy]] = frozenset({"webhook", "kafka", ARCHIVE})
"""Policies that take a folder's content, at least once, when the others have written files into it."""
Trigger = Literal["partition-time", "record-time", "process-time"]
Late = Literal["append", "folder", "quarantine"]
HiddenName = Annotated[
    str,
    Text(
        r"^[_.][A-Za-z0-9_.-]*[A-Za-z0-9]$",
        "is not the name of a file that query engines pass over",
        "begin it with _ or a dot, for example _SUCCESS (letters, digits, -, ., _)",
        64,
    ),
]


class FinishSpec(Model):
    """Folders by time are finished when every partition of the topic has passed their end (docs/finish.md)."""

    policy: Annotated[tuple[Policy, ...], Field(min_length=1, max_length=6), Unique()] = ("successFile",)
    """What tells that a folder is finished. `successFile`: an empty file in it. `manifest`: a document in it with its
    objects, records, bytes and offsets. `done`: an empty file for each partition. `webhook`, `kafka`: the document, at
    least once. `archive`: one archive of all its files, with format `archive`.
    """

    outer_levels: Flag = False
    """Whether outer levels by date get a `successFile`, too: a day when all its hours are finished."""

    webhook: WebhookSpec | None = None
    """Server of `webhook`."""

    kafka: RecordSpec | None = None
    """Topic of `kafka`."""

    success_file_name: HiddenName = "_SUCCESS"
    """Name of the file of `successFile`."""

    manifest_name: HiddenName = "_manifest.json"
    """Name of the document of `manifest`."""

    trigger: Trigger = "partition-time"
    """Time that decides how far a partition is. `partition-time`: that of its folders. `record-time`: Kafka's record
    time. `process-time`: the clock; all must be stored that Kafka had `allowedLateness` after the folder's end.
    """

    allowed_lateness: Annotated[timedelta, Duration("0s", "30d")] = timedelta(minutes=5)
    """How long after its end a folder still waits for records: by the times of records, and by the clock."""

    idle_after: Annotated[timedelta, Duration("1s", "30d")] = timedelta(hours=1)
    """How long folders wait for a partition without new records."""

    late: Late = "append"
    """Place of a record that comes after its folder is finished. `append`: its folder, whose manifest gets a higher
    number. `folder`: the same folder below `_late`. `quarantine`: `_quarantine`, as Parquet.
    """

    store_at_end: bool = False
    """Whether the rest of a folder is stored as soon as its end and `allowedLateness` have passed, whatever
    `upload.maxAge` is."""

    @refuses
    def _the_policy_has_what_it_needs(self) -> Iterator[Finding]:
        if self.outer_levels and "successFile" not in self.policy:
            told = "is about the files of successFile, but policy has none"
            yield Finding(told, "add successFile to policy, or remove it", ("outerLevels",))
        for name, block in (("webhook", self.webhook), ("kafka", self.kafka)):
            if (name in self.policy) != (block is not None):
                told = f"has {name} in policy or a block of that name, but not both"
                yield Finding(told, "add the other, or remove it", (name,))
        if self.success_file_name == self.manifest_name:
            yield Finding("is the name of both files", "give one of them another name", ("manifestName",))

    @property
    def lateness_ms(self) -> int:
        """`allowed_lateness` in milliseconds, in which ends of folders are."""
        return self.allowed_lateness // timedelta(milliseconds=1)

    @property
    def idle_seconds(self) -> float:
        return self.idle_after.total_seconds()

    def watches_field(self, name: str) -> bool:
        """Whether the times of a field say how far partitions are; without a name it is the record's time."""
        return self.trigger == "partition-time" and name != ""


def date_levels(rules: Sequence[PartitionRule]) -> list[DateRule]:
    return [level.date for level in rules if level.date is not None]


def time_field(rules: Sequence[PartitionRule]) -> TimeField | None:
    """Return the field by whose time folders by date are; None: by that of the record."""
    return next((date.time for date in date_levels(rules) if date.time is not None), None)


def has_time_folders(rules: Sequence[PartitionRule]) -> bool:
    """Whether the levels by date stand together and are about one time, so that they name folders by time."""
    places = [place for place, level in enumerate(rules) if level.date is not None]
    dates = date_levels(rules)
    together = bool(places) and places[-1] - places[0] == len(places) - 1
    sizes = [("minute", "hour", "day", "month", "year").index(date.granularity) for date in dates]
    finer = sizes == sorted(set(sizes), reverse=True)
    return together and finer and len({(date.timezone, date.time) for date in dates}) == 1
