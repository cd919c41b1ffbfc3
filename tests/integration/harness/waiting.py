"""Waiting for a condition, never for a time."""

import time
from collections.abc import Callable
from typing import TypeVar

Value = TypeVar("Value")

PATIENCE_SECONDS = 180.0
"""Until a condition counts as never met. Generous, for busy machines; what works never waits for it."""
_POLL_SECONDS = 0.1


def eventually(
    what: str,
    condition: Callable[[], Value],
    *,
    seconds: float = PATIENCE_SECONDS,
    explain: Callable[[], object] = lambda: "",
    pause: float = _POLL_SECONDS,
) -> Value:
    """Return the first true value of ``condition``, which is asked again after each ``pause``.

    Raises:
        AssertionError: not within ``seconds``; the message ends with what ``explain`` returns.
    """
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"{what}: not within {seconds:.0f} s; {explain()}")
        time.sleep(pause)
    return value
