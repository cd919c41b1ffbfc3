"""CPU time and memory of a process and everything that it started, by the operating system's own accounts."""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import psutil

SAMPLE_SECONDS = 1.0
"""Not oftener: reading the proportional size of a process costs milliseconds, and they are counted here."""


@dataclass(slots=True)
class Usage:
    """What a process tree used while it was watched."""

    cpu_seconds: float = 0.0
    """User and system time of the process, Spark's JVM and the Python workers, also of those that ended meanwhile."""
    peak_bytes: int = 0
    """Largest sum of their proportional set sizes (memory shared by forked workers counts once)."""
    cpu_by_kind: dict[str, float] = field(default_factory=dict)
    """The same CPU seconds by kind of process: ``member``, ``jvm``, ``workers``."""
    bytes_by_kind: dict[str, int] = field(default_factory=dict)
    """Largest sum of each kind."""


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
        usage.cpu_by_kind = {kind: now - before.get(kind, 0.0) for kind, now in _cpu_seconds(root).items()}
        usage.cpu_seconds = sum(usage.cpu_by_kind.values())
        ended.set()
        sampler.join()


def _sample(root: psutil.Process, usage: Usage, ended: threading.Event) -> None:
    while not ended.wait(SAMPLE_SECONDS):
        sizes: Counter[str] = Counter()
        for process in _tree(root):
            sizes[_kind(process, root)] += _proportional_bytes(process)
        usage.peak_bytes = max(usage.peak_bytes, sum(sizes.values()))
        for kind, size in sizes.items():
            usage.bytes_by_kind[kind] = max(size, usage.bytes_by_kind.get(kind, 0))


def _kind(process: psutil.Process, root: psutil.Process) -> str:
    if process.pid == root.pid:
        return "member"
    try:
        return "jvm" if "java" in process.name() else "workers"
    except psutil.Error:
        return "workers"


def _tree(root: psutil.Process) -> list[psutil.Process]:
    return [root, *root.children(recursive=True)]


def _cpu_seconds(root: psutil.Process) -> dict[str, float]:
    total: dict[str, float] = {}
    for process in _tree(root):
        try:
            times = process.cpu_times()
        except psutil.Error:
            continue
        kind = _kind(process, root)
        spent = times.user + times.system + times.children_user + times.children_system
        total[kind] = total.get(kind, 0.0) + spent
    return total


def _proportional_bytes(process: psutil.Process) -> int:
    try:
        return int(process.memory_full_info().pss)
    except psutil.Error:
        return 0
