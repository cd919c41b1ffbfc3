"""CPU and memory of the member's process tree: the driver, Spark's JVM, and the Python workers."""

import os
import threading
from collections.abc import Iterator
from typing import Final

import psutil
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

_TICKS_PER_SECOND: Final = os.sysconf("SC_CLK_TCK")
"""What the kernel counts CPU time in. Whole numbers add up to the same in any order; a sum of seconds that fell by its
last digit would be a counter that begins anew."""
KINDS: Final = ("driver", "jvm", "worker")
"""The driver's Python process, Java below it, and everything else below it (Python workers and their daemon)."""


class ProcessCollector(Collector):
    """Looks at the processes when it is scraped.

    CPU of a process that came and went between two scrapes is missed; that of one which ended after it was seen is
    kept, so the counters never fall.
    """

    def __init__(self, prefix: str, root: int | None = None) -> None:
        self._prefix = prefix
        self._root = os.getpid() if root is None else root
        self._lock = threading.Lock()
        self._running: dict[tuple[int, float], tuple[str, int]] = {}
        """Kind and ticks by process."""
        self._ended: dict[str, int] = dict.fromkeys(KINDS, 0)

    def describe(self) -> Iterator[Metric]:
        """The names without a look at the machine; registering asks for them."""
        yield from self._families()

    def collect(self) -> Iterator[Metric]:
        cpu, memory, count = self._families()
        with self._lock:
            resident, counts = self._observe()
            for kind in KINDS:
                alive = sum(ticks for its_kind, ticks in self._running.values() if its_kind == kind)
                cpu.add_metric([kind], (self._ended[kind] + alive) / _TICKS_PER_SECOND)
                memory.add_metric([kind], resident[kind])
                count.add_metric([kind], counts[kind])
        yield from (cpu, memory, count)

    def _families(self) -> tuple[CounterMetricFamily, GaugeMetricFamily, GaugeMetricFamily]:
        labels = ["process"]
        return (
            CounterMetricFamily(f"{self._prefix}_cpu_seconds", "CPU time of user and system.", labels=labels),
            GaugeMetricFamily(f"{self._prefix}_resident_memory_bytes", "Resident memory.", labels=labels),
            GaugeMetricFamily(f"{self._prefix}_processes", "Processes of the member.", labels=labels),
        )

    def _observe(self) -> tuple[dict[str, int], dict[str, int]]:
        resident = dict.fromkeys(KINDS, 0)
        counts = dict.fromkeys(KINDS, 0)
        running: dict[tuple[int, float], tuple[str, int]] = {}
        for process in self._processes():
            try:
                with process.oneshot():
                    times = process.cpu_times()
                    kind = self._kind(process)
                    identity = (process.pid, process.create_time())
                    resident[kind] += process.memory_info().rss
            except psutil.Error:
                continue  # it ended while we looked
            running[identity] = (kind, round((times.user + times.system) * _TICKS_PER_SECOND))
            counts[kind] += 1
        for identity, (kind, ticks) in self._running.items():
            if identity not in running:
                self._ended[kind] += ticks
        self._running = running
        return resident, counts

    def _processes(self) -> list[psutil.Process]:
        try:
            root = psutil.Process(self._root)
            return [root, *root.children(recursive=True)]
        except psutil.Error:
            return []

    def _kind(self, process: psutil.Process) -> str:
        if process.pid == self._root:
            return "driver"
        return "jvm" if process.name().startswith("java") else "worker"
