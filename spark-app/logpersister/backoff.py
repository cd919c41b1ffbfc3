"""Backoff: pauses before retries. Pure, except for chance."""

import random
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Backoff:
    """Exponential, with jitter. Seconds."""

    first: float
    longest: float

    def pause(self, attempts: int) -> float:
        """Return seconds to wait after so many failures in a row (from 1)."""
        full = min(self.first * 2.0 ** min(attempts - 1, 30), self.longest)
        return full * random.uniform(0.5, 1)


class PartlyFailedError(Exception):
    """Some of what was to be done failed, and all the rest was done: it goes on as if nothing had failed."""

    def __init__(self, message: str, seconds: float) -> None:
        """Take the message, and after how many seconds there may be more to do."""
        super().__init__(message)
        self.seconds = seconds
