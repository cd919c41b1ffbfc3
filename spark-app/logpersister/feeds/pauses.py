"""Pauses that servers ask for, or that they need. Pure."""

from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Final

from logpersister.backoff import Backoff

LONGEST_ASKED: Final = 3600.0
"""Seconds; a server that asks for more, perhaps by a wrong clock, is asked again after this."""
LONGEST_OWN: Final = 300.0


def retry_after(value: str | None, wall: float) -> float | None:
    """Return the seconds that ``Retry-After`` asks for (RFC 9110, section 10.2.3); None: it asks for nothing."""
    if value is None:
        return None
    text = value.strip()
    if text.isascii() and text.isdigit():
        return min(float(text[:12]), LONGEST_ASKED)
    try:
        time = parsedate_to_datetime(text)
    except ValueError:
        return None
    seconds = (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() - wall
    return min(max(seconds, 0.0), LONGEST_ASKED)


def pause(period: float, refusals: int, asked: float | None) -> float:
    """Return seconds for which a feed rests after so many answers in a row that asked for it, such as 429."""
    if asked is not None:
        return asked
    return Backoff(period, max(period, LONGEST_OWN)).pause(refusals)
