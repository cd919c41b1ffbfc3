"""Questions that are repeated where that may help."""

import time
from collections.abc import Callable
from typing import Final, TypeVar

from logpersister.backoff import Backoff
from logpersister.registry.errors import RegistryError

Answer = TypeVar("Answer")

_BACKOFF: Final = Backoff(0.5, 5.0)


def patiently(
    ask: Callable[[], Answer], attempts: int, sleep: Callable[[float], None], longest: float = float("inf")
) -> Answer:
    """Return the answer. Raises RegistryError: at once where repeating does not help, else the last of so many.

    What has taken the `longest` seconds is not repeated: a server that is silent would take them again.
    """
    began = time.monotonic()
    for attempt in range(1, attempts + 1):
        try:
            return ask()
        except RegistryError as error:
            if attempt == attempts or not error.retriable or time.monotonic() - began >= longest:
                raise
        sleep(_BACKOFF.pause(attempt))
    raise AssertionError  # the last attempt returns or raises
