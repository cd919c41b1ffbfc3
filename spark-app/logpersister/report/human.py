"""Numbers, sizes and times as people read them. Pure."""

from datetime import UTC, datetime


def number(value: int | None) -> str:
    """``1,234,567``; ``?`` for what is not known."""
    return "?" if value is None else f"{value:,}"


def size(value: int) -> str:
    """Bytes as people read them: ``12.3 MiB``."""
    scaled = float(value)
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if scaled < 1024:
            return f"{value} B" if unit == "B" else f"{scaled:.1f} {unit}"
        scaled /= 1024
    return f"{scaled:,.1f} PiB"


def duration(value: float | None) -> str:
    """Seconds as people read them: ``0.4s``, ``12s``, ``3m12s``, ``5h03m``, ``2d07h``; ``?`` for not known."""
    if value is None:
        return "?"
    if value < 10:
        return f"{value:.1f}s" if value else "0s"
    whole = round(value)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02d}s"
    if whole < 86_400:
        return f"{whole // 3600}h{whole % 3600 // 60:02d}m"
    return f"{whole // 86_400:,}d{whole % 86_400 // 3600:02d}h"


def instant(time: datetime, precision: str = "seconds") -> str:
    """``2026-11-21T12:00:00Z``; ``precision`` as ``timespec`` of `datetime.isoformat`."""
    return time.astimezone(UTC).isoformat(timespec=precision).replace("+00:00", "Z")


def plural(value: int, word: str) -> str:
    """``1 object``, ``2 objects``."""
    return f"{value:,} {word}" if value == 1 else f"{value:,} {word}s"
