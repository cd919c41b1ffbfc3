"""``spec.output.avro``."""

from typing import Literal

from logpersister.formats.columnar_settings import ColumnarSpec


class AvroFileSpec(ColumnarSpec):
    """Container files of Avro records: of the columns of values, or each value as it is in the column `value`."""

    compression: Literal["deflate", "zstd", "snappy", "none"] = "deflate"
    """Compression of each block."""
