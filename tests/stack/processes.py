"""How processes end, and what ends with them."""

import signal
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Self


class ClosedAtEnd(ABC):
    """A context manager that is closed at the end of the block, however the block ends."""

    @abstractmethod
    def close(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@contextmanager
def interrupted_by_sigterm() -> Iterator[None]:
    """Let SIGTERM end the block as Ctrl-C does, by KeyboardInterrupt: whatever was started is stopped."""

    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    former = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, former)


def stop(process: "subprocess.Popen[bytes]", seconds: float) -> None:
    """Terminate a process, and kill it when that takes longer than so many seconds."""
    process.terminate()
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
