"""``make soak``: all that is long or random. Exit code 0: all promises held; 1: one is broken; 2: nothing is proven."""

import argparse
import random
import sys
import time

from tests.soak.parts import PARTS, not_possible
from tests.soak.soak import soak
from tests.stack.artifacts import CACHE, ROOT


def main() -> int:
    """Return the worst verdict, or 130 when interrupted."""
    arguments = _parse()
    seed = arguments.seed if arguments.seed is not None else random.SystemRandom().randrange(1 << 31)
    directory = CACHE / "soak" / f"{time.strftime('%Y%m%d-%H%M%S')}-{seed}"
    directory.mkdir(parents=True)
    parts = [part for part in PARTS if not arguments.only or part.name in arguments.only]
    _say(f"seed {seed}, logs in {directory.relative_to(ROOT)}")
    try:
        verdict, outcomes = soak(parts, seed, arguments.minutes * 60, directory, _say)
    except KeyboardInterrupt:
        _say(f"\ninterrupted; logs are in {directory.relative_to(ROOT)}")
        return 130
    lines = [f"seed {seed}: {verdict.name.lower()}", *(outcome.line() for outcome in outcomes), *not_possible()]
    _say("\n".join(["", *lines]))
    return verdict


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument(
        "--minutes", type=float, default=60.0, help="shared by the parts; searches take what they take (default 60)"
    )
    parser.add_argument("--seed", type=int, help="makes the same choices again; by default one by chance")
    parser.add_argument("--only", action="append", choices=[part.name for part in PARTS], help="this part; repeatable")
    return parser.parse_args()


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
