"""How hard hypothesis searches: the same examples in each run of the tests, others and thirty times as many in a soak.

A run that finds something must have been made red by its own commit. So searches have fixed seeds; ``make soak`` has
random ones, by ``--hypothesis-profile=soak``.
"""

from typing import Any

import hypothesis

FIXED, SOAK = "fixed", "soak"
SOAK_FACTOR = 33
_EXAMPLES = 100
"""The unit in which `examples` counts."""
_EACH_RUN = 30
"""Examples of a search that does not say how many: what a change has broken is found by them nearly as often."""


def register_profiles() -> None:
    """Tell hypothesis of both, and load the fixed one."""
    # How long an example takes says what else the machine does.
    untimed = hypothesis.settings(deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
    fixed = hypothesis.settings(untimed, max_examples=_EACH_RUN, derandomize=True, database=None)
    soak = hypothesis.settings(
        untimed, max_examples=SOAK_FACTOR * _EACH_RUN, derandomize=False, database=None, print_blob=True
    )
    hypothesis.settings.register_profile(FIXED, fixed)
    hypothesis.settings.register_profile(SOAK, soak)
    hypothesis.settings.load_profile(FIXED)


def examples(count: int, **more: Any) -> hypothesis.settings:
    """Decorate a search that tries ``count`` examples where a usual one has a hundred."""
    return hypothesis.settings(max_examples=max(1, count * hypothesis.settings().max_examples // _EXAMPLES), **more)
