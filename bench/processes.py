"""CPU time and memory of a process and everything that it started, by the operating system's own accounts.

``python -m bench.processes PID`` samples the memory of a process until its input is closed, and prints what it found as
JSON. It is a process of its own because a sample takes milliseconds, which are not those of what is measured.
"""

import json
import select
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import psutil

SAMPLE_SECONDS = 1.0


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
    sampler = subprocess.Popen(
        [sys.executable, "-m", "bench.processes", str(root.pid)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert sampler.stdout is not None
    try:
        sampler.stdout.readline()  # it has begun
        before, before_others = cpu_seconds(root, sampler.pid), _cpu_of(beside)
        yield usage
        usage.cpu_by_kind = {kind: now - before.get(kind, 0.0) for kind, now in cpu_seconds(root, sampler.pid).items()}
        usage.cpu_of_others = {name: now - before_others[name] for name, now in _cpu_of(beside).items()}
    finally:
        found: dict[str, Any] = json.loads(sampler.communicate()[0] or b"{}")
    usage.peak_bytes, usage.bytes_by_kind = found["peak_bytes"], found["bytes_by_kind"]


def cpu_seconds(root: psutil.Process | None = None, without: int | None = None) -> dict[str, float]:
    """Return the CPU seconds by kind of process since they began, of this process unless given, and its children."""
    root = root or psutil.Process()
    total: dict[str, float] = {}
    for process in _tree(root, without):
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


def _kind(process: psutil.Process, root: psutil.Process) -> str:
    if process.pid == root.pid:
        return "member"
    try:
        return "jvm" if "java" in process.name() else "workers"
    except psutil.Error:
        return "workers"


def _tree(root: psutil.Process, without: int | None) -> list[psutil.Process]:
    return [root, *(process for process in root.children(recursive=True) if process.pid != without)]


def _proportional_bytes(process: psutil.Process) -> int:
    try:
        return int(process.memory_full_info().pss)
    except psutil.Error:
        return 0


def main() -> None:
    """Sample the memory of a process and its children; this process may be one of them, and does not count."""
    root = psutil.Process(int(sys.argv[1]))
    most: Counter[str] = Counter()
    peak = 0
    print(flush=True)
    while not select.select([sys.stdin], [], [], SAMPLE_SECONDS)[0]:
        sizes: Counter[str] = Counter()
        for process in _tree(root, psutil.Process().pid):
            sizes[_kind(process, root)] += _proportional_bytes(process)
        peak = max(peak, sizes.total())
        most |= sizes
    json.dump({"peak_bytes": peak, "bytes_by_kind": dict(most)}, sys.stdout)


if __name__ == "__main__":
    main()
