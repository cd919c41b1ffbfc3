"""Avro's encoding of integers: zigzag, then seven bits a byte, the lowest first.

Source: Avro's specification 1.12, "Binary encoding".
"""

from collections.abc import Callable


def written(number: int) -> bytes:
    """Return an integer from 0 on as it stands in a file."""
    rest = number << 1
    found = bytearray()
    while rest >= 0x80:
        found.append(rest & 0x7F | 0x80)
        rest >>= 7
    found.append(rest)
    return bytes(found)


def read(taken: Callable[[int], bytes]) -> int:
    """Return the next integer of a file, of which `taken` gives the next bytes. Raises ValueError if it has no end."""
    number = shift = 0
    while (byte := taken(1)[0]) & 0x80:
        number |= (byte & 0x7F) << shift
        shift += 7
        if shift > 63:
            raise ValueError("a length in it has no end")
    number |= byte << shift
    return number >> 1 ^ -(number & 1)
