"""The columns of `bench.events` as SQL says them."""

from typing import Final

SPARK: Final = (
    "id BIGINT, at TIMESTAMP, type STRING, ok BOOLEAN, amount DOUBLE, "
    "geo STRUCT<country: STRING, city: STRING, lat: DOUBLE, lon: DOUBLE>, user STRING, tags ARRAY<STRING>, "
    "attrs MAP<STRING, STRING>, items ARRAY<STRUCT<sku: STRING, price: DOUBLE, qty: INT>>, message STRING"
)
FLINK: Final = (
    "id BIGINT NOT NULL, `at` TIMESTAMP_LTZ(3) NOT NULL, `type` STRING, ok BOOLEAN, amount DOUBLE, "
    "geo ROW<country STRING, city STRING, lat DOUBLE, lon DOUBLE>, `user` STRING, tags ARRAY<STRING>, "
    "attrs MAP<STRING, STRING>, items ARRAY<ROW<sku STRING, price DOUBLE, qty INT>>, message STRING"
)
FLINK_AVRO: Final = (
    "id BIGINT NOT NULL, `at` TIMESTAMP(3) NOT NULL, `type` STRING, ok BOOLEAN, amount DOUBLE, "
    "geo ROW<country STRING NOT NULL, city STRING NOT NULL, lat DOUBLE NOT NULL, lon DOUBLE NOT NULL> NOT NULL, "
    "`user` STRING, tags ARRAY<STRING NOT NULL> NOT NULL, attrs MAP<STRING NOT NULL, STRING NOT NULL> NOT NULL, "
    "items ARRAY<ROW<sku STRING NOT NULL, price DOUBLE NOT NULL, qty INT NOT NULL> NOT NULL> NOT NULL, message STRING"
)
"""As Flink derives them of the Avro schema: it refuses others."""
