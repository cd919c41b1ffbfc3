"""CPU time and memory of a process and everything that it started, by the operating system's own accounts."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import psutil

SAMPLE_SECONDS = 0.2


@dataclass(slots=True)
class Usage:
    """What a process tree used while it was watched."""

    cpu_seconds: float = 0.0
    """User and system time of the process, Spark's JVM and the Python workers, also of those that ended meanwhile."""
    peak_bytes: int = 0
    """Largest sum of their proportional set sizes (memory shared by forked workers counts once)."""


@contextmanager
def watched() -> Iterator[Usage]:
    """Watch this process and its children."""
    usage = Usage()
    ended = threading.Event()
    sampler = threading.Thread(target=_sample, args=(usage, ended), daemon=True)
    before = _cpu_seconds()
    sampler.start()
    try:
        yield usage
    finally:
        usage.cpu_seconds = _cpu_seconds() - before
        ended.set()
        sampler.join()


def _sample(usage: Usage, ended: threading.Event) -> None:
    while not ended.wait(SAMPLE_SECONDS):
        usage.peak_bytes = max(usage.peak_bytes, sum(_proportional_bytes(process) for process in _tree()))


def _tree() -> list[psutil.Process]:
    this = psutil.Process()
    return [this, *this.children(recursive=True)]


def _cpu_seconds() -> float:
    total = 0.0
    for process in _tree():
        try:
            times = process.cpu_times()
        except psutil.Error:
            continue
        total += times.user + times.system + times.children_user + times.children_system
    return total


def _proportional_bytes(process: psutil.Process) -> int:
    try:
        return int(process.memory_full_info().pss)
    except psutil.Error:
        return 0
