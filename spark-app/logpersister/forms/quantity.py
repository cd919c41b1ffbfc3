"""Sizes and durations as people write them: ``256Mi`` is bytes, ``1h30m`` is a `timedelta`. And back.

Sizes are Kubernetes quantities (https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/) that
are whole: a number with a binary suffix (Ki, Mi, Gi, Ti, Pi, Ei), a decimal one (k, M, G, T, P, E) or none. Durations
are those of Go and Kubernetes (``ParseDuration``), each unit once and the longest first: ``90s``, ``1h30m``, ``500ms``;
also whole days, ``1d``, which Go does not know. The patterns say all of it, since the API server checks them too; what
they let through is a whole number of bytes or milliseconds. Percentages are whole numbers with their sign, ``20%``; a
share of a number of things is one of these or a plain number of them. The texts that we write are canonical: one value
has one text, so equal settings have equal revisions.
"""

import re
from dataclasses import dataclass
from datetime import timedelta
from fractions import Fraction

from logpersister.forms.problems import refuse

_BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50, "Ei": 2**60}
_DECIMAL = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15, "E": 10**18}
_SUFFIXES = _DECIMAL | _BINARY

# ASCII digits only (\d takes any script), and few enough that no number can be made huge.
SIZE_PATTERN = r"^[0-9]{1,18}(Ki|Mi|Gi|Ti|Pi|Ei|k|M|G|T|P|E)?$"
LONGEST_SIZE = 20
_SIZE = re.compile(r"([0-9]{1,18})(Ki|Mi|Gi|Ti|Pi|Ei|k|M|G|T|P|E)?")
_SIZE_REMEDY = "write for example 256Mi (Kubernetes quantity)"

# At most three decimals: a thousandth of a second is the smallest part. All units at their longest are 240 years, which
# is less than what Go can count.
DURATION_PATTERN = (
    r"^(0|([0-9]{1,4}d)?([0-9]{1,6}(\.[0-9]{1,3})?h)?([0-9]{1,7}(\.[0-9]{1,3})?m)?"
    r"([0-9]{1,9}(\.[0-9]{1,3})?s)?([0-9]{1,12}ms)?)$"
)
LONGEST_DURATION = 56
_DURATION = re.compile(DURATION_PATTERN[1:-1])
_DURATION_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)(d|h|ms|m|s)")
_MILLISECONDS = {"d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1_000, "ms": 1}
_LARGEST_SIZE = 2**63 - 1
_LONGEST = timedelta(days=3650)

PERCENT_PATTERN = r"^[0-9]{1,4}%$"
LONGEST_PERCENT = 5
SHARE_PATTERN = r"^([1-9][0-9]?|100)%$"
"""Pattern of a share that is a percentage; other shares are numbers."""


@dataclass(frozen=True, slots=True)
class Share:
    """Number of things, or a percentage of all."""

    number: int
    is_percentage: bool = False

    def of(self, total: int) -> int:
        """Return how many that is: at least one, rounded up, never more than there are."""
        wanted = -(-total * self.number // 100) if self.is_percentage else self.number
        return min(wanted, total)


def parse_size(value: object) -> int:
    """Return the bytes that a quantity means; raise `RefusedError` for anything else, also for parts of a byte."""
    found = None if isinstance(value, bool) or not isinstance(value, str | int) else _SIZE.fullmatch(str(value))
    if found is None:
        raise refuse("is not a size", _SIZE_REMEDY)
    number, suffix = found.groups()
    size = int(number) * _SUFFIXES[suffix or ""]
    if size > _LARGEST_SIZE:
        raise refuse("is larger than any size can be (2^63 bytes)", _SIZE_REMEDY)
    return size


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
    remedy = "write for example 15m, 1h30m or 90s, with its unit"
    if not isinstance(text, str) or not text or _DURATION.fullmatch(text) is None:
        raise refuse("is not a duration", remedy)
    parts = _DURATION_PART.findall(text)
    milliseconds = int(sum(Fraction(number) * _MILLISECONDS[unit] for number, unit in parts))
    if milliseconds > _LONGEST / timedelta(milliseconds=1):
        raise refuse("is longer than ten years", remedy)
    return timedelta(milliseconds=milliseconds)


def format_duration(duration: timedelta) -> str:
    """Return the canonical text, as Go prints it but without zero parts: ``1h30m``, ``1m30s``, ``500ms``, ``0s``."""
    left = duration // timedelta(milliseconds=1)
    text = ""
    for unit in ("h", "m", "s", "ms"):
        count, left = divmod(left, _MILLISECONDS[unit])
        if count:
            text += f"{count}{unit}"
    return text or "0s"


def parse_percent(text: object) -> int:
    """Return the number before the sign; raise `RefusedError` for anything else."""
    if not isinstance(text, str) or re.fullmatch(PERCENT_PATTERN[1:-1], text) is None:
        raise refuse("is not a percentage", "write for example 20%")
    return int(text[:-1])


def format_percent(number: int) -> str:
    """Return the text of a percentage."""
    return f"{number}%"


def parse_share(value: object) -> Share:
    """Return what a whole number or a percentage from 1% to 100% means; raise `RefusedError` for anything else."""
    if isinstance(value, int) and not isinstance(value, bool):
        return Share(value)
    if isinstance(value, str) and re.fullmatch(SHARE_PATTERN[1:-1], value) is not None:
        return Share(int(value[:-1]), is_percentage=True)
    raise refuse("is neither a whole number nor a percentage from 1% to 100%", "write for example 2 or 50%")


def format_share(share: Share) -> str | int:
    """Return a share as a manifest has it."""
    return format_percent(share.number) if share.is_percentage else share.number
