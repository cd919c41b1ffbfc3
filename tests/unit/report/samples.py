"""Facts to feed the report with."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from logpersister.ranges import Range, TopicPartition
from logpersister.report.facts import Identity, Quarantined, RangeFailed, RangeWritten, WrittenObject

IDENTITY = Identity(
    group="clicks-backup", generation=2, revision="0123456789ab", member="clicks-backup-0", version="1.2.3"
)
NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


class Clock:
    """A clock that stands still until a test moves it; gives datetimes (`now`) and seconds (`seconds`)."""

    def __init__(self) -> None:
        self.time = NOON

    def now(self) -> datetime:
        return self.time

    def seconds(self) -> float:
        return self.time.timestamp()

    def forward(self, seconds: float) -> None:
        self.time += timedelta(seconds=seconds)


def partition(topic: str = "clicks", number: int = 0) -> TopicPartition:
    return TopicPartition(topic, number)


def written(
    topic: str = "clicks", number: int = 0, start: int = 0, records: int = 10, objects: int = 1
) -> RangeWritten:
    """A range of so many records an object; each object has 100 bytes."""
    return RangeWritten(
        range=Range(partition(topic, number), start, start + max(1, records * objects)),
        objects=tuple(WrittenObject(f"raw/{topic}/{start}-{index}", 100, records) for index in range(objects)),
        payload_bytes=1_000,
        seconds=0.5,
    )


def partly_refused(start: int = 0, records: int = 2, reason: str = "EOF while parsing") -> RangeWritten:
    """A range of ten good records and some that the parser refused, the first of which is its fourth."""
    good = written(start=start, objects=1)
    key = f"raw/clicks/_quarantine/{start}"
    objects = (*good.objects, WrittenObject(key, 10, records))
    quarantined = Quarantined(key, records, start + 3, reason)
    return replace(good, range=Range(partition(), start, start + 20), objects=objects, quarantined=quarantined)


def failed(topic: str = "clicks", start: int = 0, message: str = "it broke", upload: bool = False) -> RangeFailed:
    return RangeFailed(Range(partition(topic), start, start + 10), "timeout", message, upload)
