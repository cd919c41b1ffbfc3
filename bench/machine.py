"""Where it was measured: numbers without that are worth nothing."""

import os
import platform
from importlib.metadata import version
from pathlib import Path

import psutil

LIBRARIES = ("pyspark", "pyarrow", "kafka-python", "boto3")


def describe() -> str:
    """Return one line about processor, memory, load and versions."""
    libraries = ", ".join(f"{name} {version(name)}" for name in LIBRARIES)
    return (
        f"{os.cpu_count()} x {_processor()}, {psutil.virtual_memory().total / 2**30:.0f} GiB, "
        f"load {os.getloadavg()[0]:.1f}, Python {platform.python_version()}, {libraries}"
    )


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())
