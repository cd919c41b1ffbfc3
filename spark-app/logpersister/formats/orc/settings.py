"""``spec.output.orc``."""

from typing import Annotated, Literal

from logpersister.formats.columnar_settings import ColumnarSpec
from logpersister.forms.constraint import Size


class OrcSpec(ColumnarSpec):
    """Columns of `spec.value`, or each value as it is in the column `value`."""

    compression: Literal["zstd", "snappy", "zlib", "none"] = "zstd"
    """Compression of each chunk of a column."""

    stripe_bytes: Annotated[int, Size("64Ki", "1Gi")] = 32 * 2**20
    """Size of a stripe as it is stored. Larger: faster scans. Smaller: less memory (docs/formats.md)."""
