"""Keys of SequenceFiles by the official MessagePack library, and only in their shortest form, which it writes."""

import msgpack


def decode_map(content: bytes) -> dict[int, int | bytes]:
    """Return the map in ``content``, in its order; raises `ValueError` on anything else."""
    entries = msgpack.unpackb(content, strict_map_key=False)
    if not isinstance(entries, dict) or msgpack.packb(entries) != content:
        raise ValueError(f"no map in its shortest form: {content.hex()}")
    return entries
