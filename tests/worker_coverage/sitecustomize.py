"""Lets Spark's Python workers save what coverage measured in them after each task. Imported by Python at its start.

Spark ends its workers by signals, so they never get to save at their end. `tests/conftest.py` puts this folder on
``PYTHONPATH`` while coverage is measured. Coverage itself is started in every process by coverage.py
(``patch = ["subprocess"]``).
"""

import socket
import sys

import coverage


def _save_after_tasks() -> None:
    from pyspark import daemon  # noqa: PLC0415 - in no other process

    worker = daemon.worker

    def saving_worker(sock: socket.socket, authenticated: bool) -> int:
        """Run one task in a forked worker, which takes further ones afterwards."""
        try:
            return worker(sock, authenticated)
        finally:
            measuring = coverage.Coverage.current()
            if measuring is not None:
                measuring.save()

    daemon.worker = saving_worker


if any(argument.endswith(".daemon") for argument in sys.orig_argv):
    _save_after_tasks()
