import subprocess
import sys
from contextlib import nullcontext
from unittest.mock import Mock

import pytest
from prometheus_client import CollectorRegistry

from logpersister.report.processes import ProcessCollector


def observe(registry: CollectorRegistry, name: str, process: str) -> float:
    value = registry.get_sample_value(f"logpersister_{name}", {"process": process})
    assert value is not None
    return value


@pytest.fixture
def registry() -> CollectorRegistry:
    registry = CollectorRegistry()
    registry.register(ProcessCollector("logpersister"))
    return registry


def test_workers_are_seen_and_their_cpu_is_kept_when_they_end(registry: CollectorRegistry) -> None:
    burn = "import time\nwhile time.process_time() < 0.15: pass\nprint(flush=True)\ninput()"
    worker = subprocess.Popen([sys.executable, "-c", burn], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert worker.stdout is not None
        worker.stdout.readline()
        assert observe(registry, "processes", "worker") >= 1
        used = observe(registry, "cpu_seconds_total", "worker")
        assert used >= 0.1  # the kernel counts in hundredths
    finally:
        worker.communicate(b"\n")

    assert observe(registry, "cpu_seconds_total", "worker") >= used


def test_cpu_never_falls_by_a_rounding(monkeypatch: pytest.MonkeyPatch) -> None:
    """0.1 + (0.2 + 0.3) is less than (0.1 + 0.2) + 0.3, and processes end in any order."""
    running = [Mock(pid=pid) for pid in (1, 2, 3)]
    for process, seconds in zip(running, (0.1, 0.2, 0.3), strict=True):
        process.oneshot = nullcontext
        process.name.return_value = "python"
        process.create_time.return_value = 0.0
        process.cpu_times.return_value = Mock(user=seconds, system=0.0)
        process.memory_info.return_value = Mock(rss=1)
    collector = ProcessCollector("logpersister")
    monkeypatch.setattr(collector, "_processes", lambda: list(running))
    registry = CollectorRegistry()
    registry.register(collector)

    seen = [observe(registry, "cpu_seconds_total", "worker")]
    while running:
        running.pop()
        seen.append(observe(registry, "cpu_seconds_total", "worker"))
    assert seen == [0.6] * 4
