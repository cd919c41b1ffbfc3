"""Spark's Python daemon for runs with coverage: its workers save what they measured after each task.

Spark ends its Python workers by signals, so they never get to save at their end. `tests/conftest.py` puts this in the
place of ``pyspark.daemon`` (``spark.python.daemon.module``) while coverage is measured. Coverage itself is started in
every process by coverage.py (``patch = ["subprocess"]``).
"""

import socket

import coverage
from pyspark import daemon

_worker = daemon.worker


def _saving_worker(sock: socket.socket, authenticated: bool) -> int:
    """Run one task in a forked worker, which takes further ones afterwards."""
    try:
        return _worker(sock, authenticated)
    finally:
        measuring = coverage.Coverage.current()
        if measuring is not None:
            measuring.save()


if __name__ == "__main__":
    daemon.worker = _saving_worker
    daemon.manager()
