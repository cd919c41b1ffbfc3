"""Prepares what the project is developed with; `make` calls it: ``scripts/prepare.py [GROUP or PART ...]``.

Each part has a fingerprint of everything that it is made from, kept in a stamp beside the result: a part is made again
only when its fingerprint changes, so a second run does nothing. The stamp is written last, so an interrupted run is
taken up again. Parts that do not need each other are made at the same time. A lock per part lets several runs go on at
once.

Standard library only: this makes the environment that holds everything else.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import sys
import time
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import IO, TYPE_CHECKING

import logged
import preflight
from inventory import parts
from logged import CACHE
from part import GROUPS, Part, next_part, selected

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

AT_ONCE = 2
"""Parts that are made at the same time: one computes while the other waits for the network."""

_POLL_SECONDS = 0.2


def prepare_all(chosen: Sequence[Part], make: Callable[[Part], None], stop: Callable[[], None]) -> None:
    """Make the parts, each after those that it needs; when one fails, ``stop`` ends the others and it is raised."""
    waiting, running = list(chosen), dict[Future[None], Part]()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        try:
            while waiting or running:
                while len(running) < AT_ONCE and (part := next_part(waiting, running.values())):
                    waiting.remove(part)
                    running[pool.submit(make, part)] = part
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    del running[future]
                    future.result()
        except BaseException:
            stop()
            raise


def prepare(part: Part) -> None:
    """Make ``part`` if it is not ready."""
    if part.ready():
        return
    (CACHE / "lock").mkdir(parents=True, exist_ok=True)
    with _locked(part):
        if part.ready():
            return
        fingerprint = part.fingerprint()  # before the work: what changes meanwhile is made again next time
        logged.say(f"==> {part.name}: {part.title}")
        began = time.monotonic()
        logged.begin(part.name)
        part.stamp.unlink(missing_ok=True)
        part.make()
        new = part.stamp.with_name(part.stamp.name + ".new")
        new.write_text(fingerprint)
        new.replace(part.stamp)
        logged.say(f"<== {part.name}: {time.monotonic() - began:.0f} s")


@contextlib.contextmanager
def _locked(part: Part) -> Iterator[None]:
    with (CACHE / "lock" / part.name).open("w") as lock:
        if not _taken(lock):
            logged.say(f"... {part.name}: another run makes it; waiting for it")
            while not _taken(lock):
                if logged.stopped.wait(_POLL_SECONDS):
                    raise logged.FailedError(f"{part.name}: stopped while another run made it")
        yield


def _taken(lock: IO[str]) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def main() -> int:
    """Prepare what is named; return 1 with a message when that cannot be done."""
    known = parts()
    parser = argparse.ArgumentParser(description="Prepare what the project is developed with.")
    choice = f"a group ({', '.join(GROUPS)}) or a part ({', '.join(known)}); test when none is named"
    parser.add_argument("names", nargs="*", metavar="NAME", help=choice)
    names = parser.parse_args().names or ["test"]
    if unknown := set(names) - set(known) - set(GROUPS):
        parser.error(f"unknown name {', '.join(sorted(unknown))}; there are {', '.join([*GROUPS, *known])}")
    chosen = selected(known, names)
    missing = [part for part in chosen if not part.ready()]
    if not missing:
        return 0
    try:
        preflight.check(tool for part in missing for tool in part.tools)
        prepare_all(chosen, prepare, logged.stop)
    except (logged.FailedError, preflight.MissingError) as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\ninterrupted; the next run goes on from here", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
