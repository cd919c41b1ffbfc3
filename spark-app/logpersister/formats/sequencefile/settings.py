"""``spec.output.sequencefile``."""

from typing import Literal

from logpersister.forms.constraint import Model


class SequenceFileSpec(Model):
    """Hadoop's container of keys and values, with offsets and any bytes."""

    compression: Literal["deflate", "none"] = "deflate"
    """Compression of what `compressionType` names."""

    tombstones: Literal["empty", "skip"] = "empty"
    """Treatment of a record whose value is null: `empty` writes an empty value, `skip` leaves it out."""

    key: Literal["longwritable", "messagepack"] = "longwritable"
    """Key of an entry. `longwritable`: the offset. `messagepack`: a map of offset, timestamp and the record's key."""

    compression_type: Literal["record", "block"] = "block"
    """Unit of compression: one value (`record`) or many records (`block`, much smaller). Only with a compression."""

    @property
    def compressed(self) -> bool:
        return self.compression != "none"

    @property
    def block_compressed(self) -> bool:
        return self.compressed and self.compression_type == "block"
