"""Takes records from the thread that polls, and has them on the disk before anybody counts on them."""

import threading
import time
from collections.abc import Callable
from typing import Final, Protocol

import structlog

from logpersister.feeds.record import Record, encode
from logpersister.feeds.spool import Spool

log = structlog.get_logger(__name__)

MOST_BYTES: Final = 64 * 2**20
"""Bytes that may wait for the disk before no more polls begin."""
BEAT_SECONDS: Final = 1.0


class Beats(Protocol):
    """Where a thread says that it lives."""

    def beat(self) -> None: ...


class Intake:
    """A queue in front of the spool, with a thread that writes all that waits at once: one fdatasync for many."""

    def __init__(self, spool: Spool, on_spooled: Callable[[], object], probe: Beats) -> None:
        """`on_spooled` is called when records are on the disk."""
        self._spool = spool
        self._on_spooled = on_spooled
        self._probe = probe
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._waiting: list[tuple[bytes, Callable[[], object]]] = []
        self._bytes = 0
        self._closing = False
        self.thread = threading.Thread(target=self._run, name="feeds-intake", daemon=True)

    @property
    def is_full(self) -> bool:
        """Whether the disk cannot keep up."""
        return self._bytes > MOST_BYTES

    def put(self, record: Record, forget: Callable[[], object]) -> None:
        """Take a record; `forget` is called if it is dropped, on another thread."""
        data = encode(record)
        with self._lock:
            self._waiting.append((data, forget))
            self._bytes += len(data)
        self._wake.set()

    def close(self) -> None:
        """Write what waits, and end."""
        self._closing = True
        self._wake.set()
        self.thread.join()

    def _run(self) -> None:
        while True:
            closing = self._closing
            self._write()
            self._probe.beat()
            if closing:
                return
            self._wake.wait(BEAT_SECONDS)
            self._wake.clear()

    def _write(self) -> None:
        with self._lock:
            taken, self._waiting = self._waiting, []
        if not taken:
            return
        began = time.monotonic()
        dropped = self._spool.append([data for data, _ in taken])
        for place in dropped:
            taken[place][1]()
        with self._lock:
            self._bytes -= sum(len(data) for data, _ in taken)
        self._on_spooled()
        if dropped:
            log.debug("spool.dropped", records=len(dropped), seconds=round(time.monotonic() - began, 3))
