"""``spec.output.jsonl``."""

from typing import Literal

from logpersister.formats.columnar_settings import KAFKA_COLUMNS, ColumnarSpec, KafkaColumn


class JsonLinesSpec(ColumnarSpec):
    """A JSON object per line: of the columns of values, or of the whole record."""

    compression: Literal["gzip", "zstd", "none"] = "gzip"
    """Compression of the whole object."""

    def columns_of_kafka(self, *, has_schema: bool) -> tuple[KafkaColumn, ...]:
        if self.kafka_columns is None and not has_schema:
            return KAFKA_COLUMNS
        return super().columns_of_kafka(has_schema=has_schema)
