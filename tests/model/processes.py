"""Processes that stop in the middle of what they do, for as long as the world likes. One runs at a time."""

import threading
from collections.abc import Callable


class Killed(BaseException):
    """kill -9: no handler of the program may run, so it is no Exception."""


class Process:
    """Runs a body again and again, in a thread that has the baton only while the world lends it."""

    def __init__(self, body: Callable[[], None]) -> None:
        self._body = body
        self._go, self._back = threading.Semaphore(0), threading.Semaphore(0)
        self._killed = False
        self.in_the_middle = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def proceed(self) -> None:
        """Let it run until it pauses, or has done its body once."""
        self._go.release()
        self._back.acquire()

    def pause(self) -> None:
        """Give the baton back; called by what the body calls."""
        self._back.release()
        self._go.acquire()
        if self._killed:
            raise Killed

    def kill(self) -> None:
        self._killed = True
        self._go.release()
        self._thread.join()

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
