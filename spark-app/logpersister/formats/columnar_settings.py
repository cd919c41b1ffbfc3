"""Settings that all formats with columns have."""

from typing import Annotated, Literal, get_args

from pydantic import Field

from logpersister.forms.constraint import Model, Unique

KafkaColumn = Literal["topic", "partition", "offset", "timestamp", "key", "headers"]
KAFKA_COLUMNS: tuple[KafkaColumn, ...] = get_args(KafkaColumn)


class ColumnarSpec(Model):
    """What all formats with columns have."""

    kafka_columns: Annotated[tuple[KafkaColumn, ...], Field(max_length=6), Unique()] | None = None
    """Kafka's own fields that become columns, named `kafka_topic`, `kafka_offset` and so on, after the other columns.
    Default: none, but all in `jsonl` without columns of values."""

    tombstones: Literal["skip", "null"] = "skip"
    """Treatment of a record whose value is null. `skip` leaves it out. `null` writes a row whose columns of the value
    are all null, so that none of them is required in the files."""

    def columns_of_kafka(self, *, has_schema: bool) -> tuple[KafkaColumn, ...]:  # noqa: ARG002  (other formats ask)
        """Return Kafka's own fields that become columns, beside columns of values or without."""
        return self.kafka_columns or ()

    @property
    def keeps_tombstones(self) -> bool:
        """Whether a record with a null value is a row of nulls, or left out."""
        return self.tombstones == "null"
