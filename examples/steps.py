"""What a demo prints while it goes on, and how it waits for the reader."""

import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.stack.artifacts import ROOT


class FailedError(Exception):
    """A step did not work; the message says which."""


class Steps:
    """Prints a line for each step when it has ended: how long it took, what it was and what came out."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._terminal = sys.stdout.isatty()

    @contextmanager
    def step(self, title: str) -> Iterator[list[str]]:
        """Yield a list; what the block appends to it is the result of the step."""
        began = time.monotonic()
        if self._terminal:
            print(f"     ...  {title}", end="\r", flush=True)
        result: list[str] = []
        yield result
        print(f"{time.monotonic() - began:6.1f} s  {title:34} {', '.join(result)}", flush=True)

    def headline(self, text: str) -> None:
        bold, plain = ("\033[1m", "\033[0m") if self._terminal else ("", "")
        print(f"\n{bold}{text}{plain}", flush=True)

    def end(self, state: str) -> None:
        print(f"\nDone in {time.monotonic() - self._began:.0f} s; {state}.", flush=True)


def wait_for_ctrl_c() -> None:
    """Return after Ctrl-C."""
    print("\nThe servers stay until Ctrl-C.", flush=True)
    try:
        signal.pause()
    except KeyboardInterrupt:
        print()


def short(path: Path) -> str:
    """Return a path of the repository without the repository's own."""
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)
