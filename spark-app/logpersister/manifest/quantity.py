"""Sizes and durations as people write them: ``256Mi`` is bytes, ``1h30m`` is a `timedelta`. And back.

Sizes are Kubernetes quantities (https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/):
a decimal number with a binary suffix (Ki, Mi, Gi, Ti, Pi, Ei), a decimal one (k, M, G, T, P, E), an exponent (``1e6``)
or none. Durations are those of Go and Kubernetes (``ParseDuration``): ``90s``, ``1h30m``, ``500ms``; also ``1d``,
which Go does not know. The texts are canonical: one value has one text, so equal settings have equal revisions.
"""

import re
from datetime import timedelta
from fractions import Fraction

from logpersister.manifest.problems import refuse

_BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50, "Ei": 2**60}
_DECIMAL = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15, "E": 10**18}
_SUFFIXES = _DECIMAL | _BINARY

# ASCII digits only (\d takes any script); at most 20 of them, so that no number can be made huge.
SIZE_PATTERN = r"^[0-9]{1,20}(\.[0-9]{1,20})?(Ki|Mi|Gi|Ti|Pi|Ei|k|M|G|T|P|E|[eE][0-9]{1,2})?$"
_SIZE = re.compile(r"([0-9]{1,20}(?:\.[0-9]{1,20})?)(?:(Ki|Mi|Gi|Ti|Pi|Ei|k|M|G|T|P|E)|[eE]([0-9]{1,2}))?")

DURATION_PATTERN = r"^(0|([0-9]{1,12}(\.[0-9]{1,9})?(d|h|ms|m|s))+)$"
_DURATION = re.compile(r"(?:[0-9]{1,12}(?:\.[0-9]{1,9})?(?:d|h|ms|m|s))+")
_DURATION_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)(d|h|ms|m|s)")
_MILLISECONDS = {"d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1_000, "ms": 1}
_LARGEST_SIZE = 2**63 - 1
_LONGEST = timedelta(days=3650)


def parse_size(text: object) -> int:
    """Return the bytes that a quantity means; raise `RefusedError` for anything else, also for parts of a byte."""
    if isinstance(text, bool) or not isinstance(text, str | int):
        raise refuse("is not a size", "write for example 256Mi (Kubernetes quantity)")
    found = _SIZE.fullmatch(str(text).strip())
    if found is None:
        raise refuse("is not a size", _size_remedy(str(text)))
    number, suffix, exponent = found.groups()
    value = Fraction(number) * (10 ** int(exponent) if exponent else _SUFFIXES[suffix or ""])
    if value.denominator != 1:
        raise refuse("is not a whole number of bytes", "write for example 256Mi (Kubernetes quantity)")
    if value > _LARGEST_SIZE:
        raise refuse("is larger than any size can be (2^63 bytes)", "write for example 256Mi (Kubernetes quantity)")
    return int(value)


def _size_remedy(text: str) -> str:
    usual = "write for example 256Mi (Kubernetes quantity)"
    if re.fullmatch(r"[0-9.]+ *[kmgtpe]i?b", text, re.IGNORECASE):
        return f"{usual}, without the B"
    return usual


def format_size(size: int) -> str:
    """Return the canonical text: the largest suffix that leaves a whole number, binary ones first, else digits."""
    if size == 0:
        return "0"
    for suffixes in (_BINARY, _DECIMAL):
        for suffix, factor in sorted(suffixes.items(), key=lambda item: -item[1]):
            if suffix and size % factor == 0:
                return f"{size // factor}{suffix}"
    return str(size)


def parse_duration(text: object) -> timedelta:
    """Return the time that a duration means, whole milliseconds; raise `RefusedError` for anything else."""
    usual = "write for example 15m, 1h30m or 90s"
    if not isinstance(text, str):
        raise refuse("is not a duration", f"{usual}, with its unit")
    stripped = text.strip()
    if stripped == "0":
        return timedelta(0)
    if _DURATION.fullmatch(stripped) is None:
        raise refuse("is not a duration", f"{usual}, with its unit" if stripped.isdigit() else usual)
    parts = _DURATION_PART.findall(stripped)
    units = [unit for _, unit in parts]
    if units != sorted(set(units), key=lambda unit: -_MILLISECONDS[unit]):
        raise refuse("is not a duration: each unit once, the longest first", usual)
    milliseconds = sum(Fraction(number) * _MILLISECONDS[unit] for number, unit in parts)
    if milliseconds != int(milliseconds):
        raise refuse("is not a whole number of milliseconds", usual)
    if milliseconds > _LONGEST / timedelta(milliseconds=1):
        raise refuse("is longer than ten years", usual)
    return timedelta(milliseconds=int(milliseconds))


def format_duration(duration: timedelta) -> str:
    """Return the canonical text, as Go prints it but without zero parts: ``1h30m``, ``1m30s``, ``500ms``, ``0s``."""
    left = duration // timedelta(milliseconds=1)
    text = ""
    for unit in ("h", "m", "s", "ms"):
        count, left = divmod(left, _MILLISECONDS[unit])
        if count:
            text += f"{count}{unit}"
    return text or "0s"
