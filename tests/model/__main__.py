"""Plays many histories, explores small worlds, or tells one story again.

``--histories 100000``: random ones. ``--seed 7 --mood losing``: the story of one.
``--exhaustive``: every path of the small worlds, ``--faults 2 --pauses 1``: within these bounds, ``--scene crashes``:
of one of them. ``--scene crashes --deviations 3:1,12:4``: the story of one path.
"""

import argparse
import logging
import sys
import time
from collections.abc import Iterable

import structlog

from tests.model.chronicle import Violation
from tests.model.histories import MOODS, STEPS, play
from tests.model.paths import Bounds, Deviations
from tests.model.scenes import SCENES, Scene
from tests.model.search import Search, replay
from tests.model.shrinking import shrunk


def main() -> int:
    options = _parser().parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    try:
        if options.deviations is not None:
            _say(replay(SCENES[options.scene or next(iter(SCENES))], options.deviations))
        elif options.exhaustive or options.scene is not None:
            scenes = [SCENES[options.scene]] if options.scene else SCENES.values()
            _explore(scenes, _bounds(options.faults, options.pauses))
        elif options.seed is not None:
            mood = options.mood or MOODS[options.seed % len(MOODS)]
            _say(play(options.seed, mood, without=frozenset(range(STEPS)) - set(options.only or range(STEPS))))
        else:
            _play_many(options.first, options.histories, options.mood)
    except Violation as violation:
        _say(violation)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.model", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    random = parser.add_argument_group("random histories")
    random.add_argument("--histories", type=int, default=10_000)
    random.add_argument("--first", type=int, default=0, help="seed of the first history")
    random.add_argument("--seed", type=int, help="play this history only, and tell its story")
    random.add_argument("--mood", choices=MOODS, help="what happens often; by default every mood in turn")
    random.add_argument("--only", type=_numbers, help="steps to play, the others are left out: 3,17,20")
    exhaustive = parser.add_argument_group("every path of small worlds; each path ends when all is at rest")
    exhaustive.add_argument("--exhaustive", action="store_true")
    exhaustive.add_argument("--scene", choices=SCENES, help="explore this one only")
    exhaustive.add_argument("--faults", type=int, help="at most so many on one path; by default as the tests do")
    exhaustive.add_argument("--pauses", type=int, help="at most so many things stand still while others go on")
    exhaustive.add_argument("--deviations", type=_deviations, help="tell the story of one path: 3:1,12:4 or none")
    return parser


def _numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",")]


def _deviations(text: str) -> Deviations:
    if text == "none":
        return ()
    pairs = (pair.split(":") for pair in text.split(","))
    return tuple((int(decision), int(option)) for decision, option in pairs)


def _bounds(faults: int | None, pauses: int | None) -> list[Bounds]:
    return [] if faults is None and pauses is None else [Bounds(faults or 0, pauses or 0)]


def _explore(scenes: Iterable[Scene], bounds: list[Bounds]) -> None:
    for scene in scenes:
        started = time.monotonic()
        explored = Search(scene, bounds or scene.bounds).run()
        if explored.violation is not None:
            raise explored.violation
        told = " or ".join(f"{one.faults} faults and {one.pauses} pauses" for one in bounds or scene.bounds)
        _say(
            f"{scene.name}: all paths with at most {told}: {explored.schedules} schedules, {len(explored.moments)} "
            f"different moments, {time.monotonic() - started:.0f} s, no promise broken"
        )


def _play_many(first: int, count: int, mood: str | None) -> None:
    started = time.monotonic()
    for done, seed in enumerate(range(first, first + count), 1):
        mood_of_this = mood or MOODS[seed % len(MOODS)]
        try:
            play(seed, mood_of_this)
        except Violation:
            raise shrunk(seed, mood_of_this) from None
        if done % 1000 == 0:
            _say(f"{done} histories, {time.monotonic() - started:.0f} s, no promise broken")


def _say(text: object) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
