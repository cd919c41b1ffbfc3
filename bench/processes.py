"""CPU time and memory of a process and everything that it started, by the operating system's own accounts."""

import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import psutil

SAMPLE_SECONDS = 1.0
"""Not oftener: reading the proportional size of a process costs milliseconds, and they are counted here."""


@dataclass(slots=True)
class Usage:
    """What a process tree used while it was watched."""

    cpu_by_kind: dict[str, float] = field(default_factory=dict)
    """User and system time, seconds, of ``member``, ``jvm`` and ``workers``, also of those that ended meanwhile."""
    bytes_by_kind: dict[str, int] = field(default_factory=dict)
    """Largest sum of the proportional set sizes of each kind (memory shared by forked workers counts once)."""
    peak_bytes: int = 0
    """Largest sum of all kinds at one moment."""
    cpu_of_others: dict[str, float] = field(default_factory=dict)
    """CPU seconds of the other processes that were named, such as the broker."""

    @property
    def cpu_seconds(self) -> float:
        """CPU seconds of all kinds, without the others."""
        return sum(self.cpu_by_kind.values())


@contextmanager
def watched(pid: int | None = None, others: Mapping[str, int] | None = None) -> Iterator[Usage]:
    """Watch a process, this one unless given, and its children; ``others`` are process ids by name."""
    root = psutil.Process(pid)
    beside = {name: psutil.Process(other) for name, other in (others or {}).items()}
    usage = Usage()
    ended = threading.Event()
    sampler = threading.Thread(target=_sample, args=(root, usage, ended), daemon=True)
    before, before_others = cpu_seconds(root), _cpu_of(beside)
    sampler.start()
    try:
        yield usage
    finally:
        usage.cpu_by_kind = {kind: now - before.get(kind, 0.0) for kind, now in cpu_seconds(root).items()}
        usage.cpu_of_others = {name: now - before_others[name] for name, now in _cpu_of(beside).items()}
        ended.set()
        sampler.join()


def cpu_seconds(root: psutil.Process | None = None) -> dict[str, float]:
    """Return the CPU seconds by kind of process since they began, of this process unless given, and its children."""
    root = root or psutil.Process()
    total: dict[str, float] = {}
    for process in _tree(root):
        try:
            spent = _spent(process)
        except psutil.Error:  # has just ended; its parent, when it waits for it, has its time
            continue
        kind = _kind(process, root)
        total[kind] = total.get(kind, 0.0) + spent
    return total


def _cpu_of(processes: Mapping[str, psutil.Process]) -> dict[str, float]:
    return {name: _spent(process) for name, process in processes.items()}


def _spent(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system + times.children_user + times.children_system)


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


def _proportional_bytes(process: psutil.Process) -> int:
    try:
        return int(process.memory_full_info().pss)
    except psutil.Error:
        return 0
