"""Processes that stop in the middle of what they do, for as long as the world likes. One runs at a time."""

from collections.abc import Callable
from typing import Any

from greenlet import getcurrent, greenlet


class Killed(BaseException):
    """kill -9: no handler of the program may run, so it is no Exception."""


class Process:
    """Runs a body again and again, as a coroutine that runs only while the world lets it."""

    def __init__(self, body: Callable[[], None]) -> None:
        self._body = body
        self._coroutine = greenlet(self._run)
        self.in_the_middle = False

    def proceed(self) -> None:
        """Let it run until it pauses, or has done its body once."""
        self._resume(self._coroutine.switch)

    def pause(self) -> None:
        """Go back to the world; called by what the body calls."""
        parent = self._coroutine.parent
        assert parent is not None
        parent.switch()

    def kill(self) -> None:
        """End it where it stands."""
        if self._coroutine:
            self._resume(self._coroutine.throw, Killed)

    def _resume(self, how: Callable[..., object], *what: Any) -> None:
        self._coroutine.parent = getcurrent()
        how(*what)

    def _run(self) -> None:
        try:
            while True:
                self.in_the_middle = True
                self._body()
                self.in_the_middle = False
                self.pause()
        except Killed:
            return
