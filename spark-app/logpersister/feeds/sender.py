"""Sends what the spool has to Kafka, in order, for as long as it takes."""

import threading
import time
from collections.abc import Callable
from typing import Final

import structlog

from logpersister.backoff import Backoff
from logpersister.feeds.intake import Beats
from logpersister.feeds.record import decode
from logpersister.feeds.spool import Spool
from logpersister.kafka_client.producer import NotDeliveredError
from logpersister.kafka_client.stream import Stream

log = structlog.get_logger(__name__)

MOST_SENT: Final = 5_000
"""Records that are sent and not answered."""
MOST_SENT_BYTES: Final = 16 * 2**20
READ_BYTES: Final = 4 * 2**20
IDLE_SECONDS: Final = 0.5
CLOSE_SECONDS: Final = 0.2
"""How soon a second signal is noticed."""
SILENT_SECONDS: Final = 15.0
"""How long brokers may leave a record without an answer before Kafka counts as away."""


class _AgainError(Exception):
    """A stream that takes nothing any more, after a record that it was refused."""


class SentCounts:
    """What has become of records. Written by one thread."""

    def __init__(self) -> None:
        self.sent = 0
        self.refused = 0
        """Records that brokers never take."""
        self.away: str | None = "not connected yet"
        """Why Kafka cannot be written to; None: it can."""
        self.away_since = time.time()


class Sender:
    """The thread between spool and Kafka. What was sent is released once all replicas in sync have it."""

    def __init__(self, spool: Spool, connect: Callable[[Callable[[], object]], Stream], probe: Beats) -> None:
        """`connect` opens a stream, whose answers it tells to what it is given; raises NotDeliveredError."""
        self._spool = spool
        self._connect = connect
        self._probe = probe
        self._wake = threading.Event()
        self._deadline: float | None = None
        self._backoff = Backoff(0.2, 5.0)
        self._connects = False
        self._suspect: int | None = None
        """A record that was refused in company, which is sent alone now: the library fails others with one."""
        self.counts = SentCounts()
        self.thread = threading.Thread(target=self._run, name="feeds-sender", daemon=True)

    def wake(self) -> None:
        """Say that there may be something to send."""
        self._wake.set()

    def close(self, grace: float, at_once: Callable[[], bool] = lambda: False) -> None:
        """Send what is left, for `grace` seconds at most or until it shall end `at_once`, and end."""
        self._deadline = time.monotonic() + grace
        while self.thread.is_alive():
            if at_once():
                self._deadline = time.monotonic()
            if self._connects and self._is_over():
                return  # for nothing; it takes seconds, and ends with the process
            self._wake.set()
            self.thread.join(CLOSE_SECONDS)

    def _run(self) -> None:
        failures = 0
        while not self._is_over():
            self._probe.beat()
            before, self._connects = self.counts.sent, True
            try:
                with self._connect(self.wake) as stream:
                    self._connects = False
                    self._send(stream)
            except _AgainError:
                continue
            except Exception as error:  # of the library, too: what is spooled is to be sent, whatever happens
                if not isinstance(error, NotDeliveredError):
                    log.exception("sender.broken")
                self._show_away(str(error) or type(error).__name__)
                failures = 1 if self.counts.sent > before else failures + 1
                self._connects = False
                self._wait(self._backoff.pause(failures))

    def _send(self, stream: Stream) -> None:
        """Send from the first record that is not released; whatever goes wrong begins there again."""
        following = 0
        while not self._is_over():
            self._probe.beat()
            self._settle(stream)
            entries = []
            if self._suspect is not None:
                entries = self._spool.read(following, 1) if not len(stream) else []
            elif len(stream) < MOST_SENT and stream.bytes < MOST_SENT_BYTES:
                entries = self._spool.read(following, READ_BYTES)
            for number, payload in entries:
                record = decode(payload)
                stream.send(number, record.key.encode(), record.value, record.headers, record.timestamp)
                following = number + 1
            if not entries:
                self._wait(IDLE_SECONDS)
            if stream.waits_since is None:
                self._show_there()
            elif time.monotonic() - stream.waits_since > SILENT_SECONDS:
                self._show_away(f"no broker has taken a record for {SILENT_SECONDS:g} s")

    def _settle(self, stream: Stream) -> None:
        last = None
        try:
            for number, refusal in stream.settled():
                if refusal is not None and number != self._suspect:
                    self._suspect = number
                    raise _AgainError
                last = number
                if refusal is not None:
                    self.counts.refused += 1
                    log.warning("record.refused", reason=refusal, remedy="see the topic's max.message.bytes")
                    raise _AgainError
                self.counts.sent += 1
                self._suspect = None
        finally:
            if last is not None:
                self._spool.release(last)
                self._show_there()

    def _is_over(self) -> bool:
        if self._deadline is None:
            return False
        return time.monotonic() >= self._deadline or not self._spool.fill.entries

    def _wait(self, seconds: float) -> None:
        if self._deadline is not None:
            seconds = max(0.0, min(seconds, self._deadline - time.monotonic()))
        self._wake.wait(seconds)
        self._wake.clear()

    def _show_away(self, reason: str) -> None:
        if self.counts.away is None:
            self.counts.away_since = time.time()
        if self.counts.away != reason:
            log.warning("kafka.away", reason=reason)
        self.counts.away = reason

    def _show_there(self) -> None:
        if self.counts.away is not None:
            log.info("kafka.reached", seconds_away=round(time.time() - self.counts.away_since, 1))
            self.counts.away = None
