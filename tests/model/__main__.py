"""Plays many histories, or tells the story of one.

``python -m tests.model --histories 100000``, ``python -m tests.model --seed 7 --mood losing``.
"""

import argparse
import logging
import sys
import time

import structlog

from tests.model.chronicle import Violation
from tests.model.histories import MOODS, play


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.model", description=__doc__)
    parser.add_argument("--seed", type=int, help="play this history only, and tell its story")
    parser.add_argument("--mood", choices=MOODS, help="what happens often; by default every mood in turn")
    parser.add_argument("--histories", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0, help="seed of the first history")
    options = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    if options.seed is not None:
        return _play_one(options.seed, options.mood or MOODS[options.seed % len(MOODS)], tell=True)
    started = time.monotonic()
    for seed in range(options.first, options.first + options.histories):
        if _play_one(seed, options.mood or MOODS[seed % len(MOODS)], tell=False):
            return 1
        done = seed - options.first + 1
        if done % 1000 == 0:
            _say(f"{done} histories, {time.monotonic() - started:.0f} s, no promise broken")
    return 0


def _say(text: object) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _play_one(seed: int, mood: str, *, tell: bool) -> int:
    try:
        story = play(seed, mood)
    except Violation as violation:
        _say(violation)
        return 1
    if tell:
        _say(story)
    return 0


if __name__ == "__main__":
    sys.exit(main())
