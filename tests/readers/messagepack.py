"""A small MessagePack decoder: maps of integers to integers and byte arrays, and only in their shortest form.

Written from https://github.com/msgpack/msgpack/blob/master/spec.md.
"""

_UNSIGNED = {0xCC: 1, 0xCD: 2, 0xCE: 4, 0xCF: 8}
_SIGNED = {0xD0: 1, 0xD1: 2, 0xD2: 4, 0xD3: 8}
_BINARY = {0xC4: 1, 0xC5: 2, 0xC6: 4}


class NotShortestError(ValueError):
    """A number could have been written in fewer bytes."""


def decode_map(content: bytes) -> dict[int, int | bytes]:
    """Return the map in ``content``, in its order; raises `ValueError` on anything else."""
    if not 0x80 <= content[0] <= 0x8F:
        raise ValueError(f"no fixmap: {content[:1].hex()}")
    position = 1
    entries: dict[int, int | bytes] = {}
    for _ in range(content[0] & 0x0F):
        key, position = _decode(content, position)
        value, position = _decode(content, position)
        if not isinstance(key, int) or key in entries:
            raise ValueError(f"key {key!r} is not an integer or comes twice")
        entries[key] = value
    if position != len(content):
        raise ValueError(f"{len(content) - position} bytes after the map")
    return entries


def _decode(content: bytes, position: int) -> tuple[int | bytes, int]:
    tag = content[position]
    position += 1
    if tag < 0x80:
        return tag, position
    if tag >= 0xE0:
        return tag - 0x100, position
    if tag in _UNSIGNED:
        number, position = _number(content, position, _UNSIGNED[tag], signed=False)
        if number < 0x80 or (_UNSIGNED[tag] > 1 and number < 1 << (4 * _UNSIGNED[tag])):
            raise NotShortestError(f"{number} with tag {tag:#x}")
        return number, position
    if tag in _SIGNED:
        number, position = _number(content, position, _SIGNED[tag], signed=True)
        if number >= -0x20 or (_SIGNED[tag] > 1 and number >= -(1 << (4 * _SIGNED[tag] - 1))):
            raise NotShortestError(f"{number} with tag {tag:#x}")
        return number, position
    if tag in _BINARY:
        length, position = _number(content, position, _BINARY[tag], signed=False)
        if _BINARY[tag] > 1 and length < 1 << (4 * _BINARY[tag]):
            raise NotShortestError(f"length {length} with tag {tag:#x}")
        if position + length > len(content):
            raise ValueError(f"byte array of {length} ends after the content")
        return content[position : position + length], position + length
    raise ValueError(f"tag {tag:#x} is neither integer nor byte array")


def _number(content: bytes, position: int, width: int, *, signed: bool) -> tuple[int, int]:
    end = position + width
    if end > len(content):
        raise ValueError("number is cut off")
    return int.from_bytes(content[position:end], "big", signed=signed), end
