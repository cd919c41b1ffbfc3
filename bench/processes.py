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
def watched(pid: int | None = None) -> Iterator[Usage]:
    """Watch a process, this one unless given, and its children."""
    root = psutil.Process(pid)
    usage = Usage()
    ended = threading.Event()
    sampler = threading.Thread(target=_sample, args=(root, usage, ended), daemon=True)
    before = _cpu_seconds(root)
    sampler.start()
    try:
        yield usage
    finally:
        usage.cpu_seconds = _cpu_seconds(root) - before
        ended.set()
        sampler.join()


def _sample(root: psutil.Process, usage: Usage, ended: threading.Event) -> None:
    while not ended.wait(SAMPLE_SECONDS):
        usage.peak_bytes = max(usage.peak_bytes, sum(_proportional_bytes(process) for process in _tree(root)))


def _tree(root: psutil.Process) -> list[psutil.Process]:
    return [root, *root.children(recursive=True)]


def _cpu_seconds(root: psutil.Process) -> float:
    total = 0.0
    for process in _tree(root):
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
