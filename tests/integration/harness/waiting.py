"""Waiting for a condition, never for a time."""

import time
from collections.abc import Callable
from typing import TypeVar

Value = TypeVar("Value")

PATIENCE_SECONDS = 180.0
"""Until a condition counts as never met. Generous, for busy machines; what works never waits for it."""
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS, _GROWTH = 0.05, 0.5, 1.2
"""Asking costs CPU time that the servers of the test need: what comes late is asked for less often."""


def eventually(
    what: str,
    condition: Callable[[], Value],
    *,
    seconds: float = PATIENCE_SECONDS,
    explain: Callable[[], object] = lambda: "",
    pause: float | None = None,
) -> Value:
    """Return the first true value of ``condition``, asked again after pauses that grow, or after each ``pause``.

    A document that lacks a key (KeyError) does not tell it yet: on a busy machine it may be empty, as nobody answered.

    Raises:
        AssertionError: not within ``seconds``; the message ends with what ``explain`` returns.
    """
    deadline = time.monotonic() + seconds
    wait = pause or _FIRST_PAUSE_SECONDS
    while True:
        lacks = ""
        try:
            if value := condition():
                return value
        except KeyError as error:
            lacks = f"there is no {error}; "
        if time.monotonic() > deadline:
            raise AssertionError(f"{what}: not within {seconds:.0f} s; {lacks}{explain()}")
        time.sleep(wait)
        if pause is None:
            wait = min(wait * _GROWTH, _LONGEST_PAUSE_SECONDS)
