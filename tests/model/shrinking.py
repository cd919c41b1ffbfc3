"""Makes the story of a broken promise short: leaves out of a random history whatever it takes no part in."""

from collections.abc import Callable, Sequence

from tests.model.chronicle import Violation
from tests.model.histories import STEPS, play
from tests.model.rules import Rules


def shrunk(seed: int, mood: str, rules: Rules | None = None) -> Violation:
    """Return the shortest violation that leaving out steps leads to, of a history that breaks a promise."""
    stories: dict[tuple[int, ...], Violation] = {}

    def still_breaks(kept: Sequence[int]) -> bool:
        try:
            play(seed, mood, rules, without=frozenset(range(STEPS)) - set(kept))
        except Violation as violation:
            stories[tuple(kept)] = violation
            return True
        return False

    if not still_breaks(range(STEPS)):
        raise ValueError(f"seed {seed} breaks no promise")
    return stories[tuple(minimal(range(STEPS), still_breaks))]


def minimal(items: Sequence[int], holds: Callable[[Sequence[int]], bool]) -> list[int]:
    """Return a part of the items for which something still holds, and for no part with one item less (Zeller's ddmin).

    Args:
        items: for all of which it holds.
        holds: asked about parts of the items, in their order.
    """
    kept = list(items)
    size = max(1, len(kept) // 2)
    while True:
        for begin in range(0, len(kept), size):
            rest = kept[:begin] + kept[begin + size :]
            if len(rest) < len(kept) and holds(rest):
                kept = rest
                break
        else:
            if size == 1:
                return kept
            size //= 2
            continue
        size = max(1, min(size, len(kept) // 2))
