"""Processes that stop in the middle of what they do, for as long as the world likes. One runs at a time."""

import _thread
from collections.abc import Callable


class Killed(BaseException):
    """kill -9: no handler of the program may run, so it is no Exception."""


class Process:
    """Runs a body again and again, in a thread that has the baton only while the world lends it.

    The baton is two bare locks: a history hands it over thousands of times, and a semaphore costs five times as much.
    """

    def __init__(self, body: Callable[[], None]) -> None:
        self._body = body
        self._go, self._back = _thread.allocate_lock(), _thread.allocate_lock()
        self._go.acquire()
        self._back.acquire()
        self._started = self._killed = False
        self.in_the_middle = False

    def proceed(self) -> None:
        """Let it run until it pauses, or has done its body once."""
        if not self._started:
            self._started = True
            _thread.start_new_thread(self._run, ())
        self._go.release()
        self._back.acquire()

    def pause(self) -> None:
        """Give the baton back; called by what the body calls."""
        self._back.release()
        self._go.acquire()
        if self._killed:
            raise Killed

    def kill(self) -> None:
        """End it where it stands, and wait until nothing of it runs."""
        self._killed = True
        if self._started:
            self._go.release()
            self._back.acquire()

    def _run(self) -> None:
        try:
            while True:
                self._go.acquire()
                if self._killed:
                    return
                self.in_the_middle = True
                self._body()
                self.in_the_middle = False
                self._back.release()
        except Killed:
            return
        finally:
            self._back.release()
