"""Signals: the first one asks a process to end in order, a second one to end at once."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGTERM, signal.SIGINT)


class Stop:
    """State of the stop that signals ask for."""

    def __init__(self) -> None:
        self.wake = threading.Event()
        """Set by a signal, and by whoever else has something for the process to do."""
        self.asked = False
        self.at_once = False

    @contextmanager
    def on_signals(self) -> Iterator[None]:
        """Listen to the signals until the block ends."""
        before = {number: signal.getsignal(number) for number in SIGNALS}
        self.listen()
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def listen(self) -> None:
        """Take the signals; again after pyspark, which installs a handler of its own when a session starts."""
        for number in SIGNALS:
            signal.signal(number, self._on_signal)

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        self.at_once = self.asked
        self.asked = True
        self.wake.set()
