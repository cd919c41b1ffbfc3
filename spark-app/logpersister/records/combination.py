"""Joins what is known of the payloads of consecutive objects, so that ranges that were cut differently can be compared.

The CRC-32 of two texts one after the other follows from their CRC-32s and the length of the second: appending n bytes
multiplies the first's polynomial by x^8n, modulo that of the CRC (zlib's ``crc32_combine``). Pure.
"""

import re
from dataclasses import dataclass

_POLYNOMIAL = 0xEDB88320
"""CRC-32's, with the highest power of x in the lowest bit, as everywhere here."""
_ONE = 1 << 31
_LENGTH_BYTES = 4
"""Bytes of one record in the streams of lengths (records.checksum)."""
_CHECKSUM = re.compile(r"crc32:([0-9a-f]{8})-([0-9a-f]{8})-([0-9a-f]{8})-([0-9a-f]{8})")


@dataclass(frozen=True, slots=True)
class PayloadSum:
    """Checksums of the payloads of consecutive records, with what is needed to combine them."""

    records: int
    value_crc: int
    value_lengths_crc: int
    key_crc: int
    key_lengths_crc: int
    sizes: tuple[int, int] | None
    """Bytes of all values and of all keys; None when the writing release did not note them. Two sums need not have them
    in common: the lengths are."""

    def followed_by(self, other: "PayloadSum") -> "PayloadSum | None":
        """Return the sum of these records and of those behind them; None when that cannot be known."""
        if other.sizes is None:
            return None
        values, keys = other.sizes
        lengths = _LENGTH_BYTES * other.records
        return PayloadSum(
            self.records + other.records,
            crc32_combine(self.value_crc, other.value_crc, values),
            crc32_combine(self.value_lengths_crc, other.value_lengths_crc, lengths),
            crc32_combine(self.key_crc, other.key_crc, keys),
            crc32_combine(self.key_lengths_crc, other.key_lengths_crc, lengths),
            None if self.sizes is None else (self.sizes[0] + values, self.sizes[1] + keys),
        )

    def same_payloads(self, other: "PayloadSum") -> bool:
        """Whether both are of the same payloads, cut into the same records."""
        mine = (self.records, self.value_crc, self.value_lengths_crc, self.key_crc, self.key_lengths_crc)
        theirs = (other.records, other.value_crc, other.value_lengths_crc, other.key_crc, other.key_lengths_crc)
        return mine == theirs


def payload_sum(checksum: str, records: int, sizes: tuple[int, int] | None) -> PayloadSum | None:
    """Return what an object says of its payloads; None when its checksum is of another kind."""
    found = _CHECKSUM.fullmatch(checksum)
    if found is None:
        return None
    value, value_lengths, key, key_lengths = (int(digits, 16) for digits in found.groups())
    return PayloadSum(records, value, value_lengths, key, key_lengths, sizes)


def crc32_combine(first: int, second: int, length: int) -> int:
    """Return the CRC-32 of two texts one after the other, of their CRC-32s and the second's length in bytes."""
    return _multiply(_power_of_x(8 * length), first) ^ second


def _multiply(one: int, other: int) -> int:
    """Return the product of two polynomials modulo that of the CRC."""
    product = 0
    bit = _ONE
    while bit:
        if one & bit:
            product ^= other
        other = (other >> 1) ^ _POLYNOMIAL if other & 1 else other >> 1
        bit >>= 1
    return product


def _power_of_x(exponent: int) -> int:
    """Return x^exponent modulo the CRC's polynomial, by squaring."""
    power, square = _ONE, _ONE >> 1
    while exponent:
        if exponent & 1:
            power = _multiply(square, power)
        square = _multiply(square, square)
        exponent >>= 1
    return power
