"""How long to wait before who has just failed to answer is asked again. Pure."""

SOONEST = 1 / 6
"""Part of the usual pause after the first failure; each further one doubles it."""
SLOWEST = 4.0
"""How many times longer than usual the pause gets at most."""
_MOST_DOUBLINGS = 16


def pause_after(failures: int, seconds: float) -> float:
    """Return the pause in seconds.

    Args:
        failures: in a row, at least 1.
        seconds: the usual pause.
    """
    return seconds * min(SLOWEST, SOONEST * 2.0 ** min(failures - 1, _MOST_DOUBLINGS))
