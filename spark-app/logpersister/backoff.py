"""How long to wait before something that failed is tried again. Pure, except for chance."""

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
