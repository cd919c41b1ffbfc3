"""Streams one object into the bucket: a single put when it is small, else parts in background threads."""

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from functools import partial

import structlog

from logpersister.formats.base import Bytes
from logpersister.storage.budget import ByteBudget
from logpersister.storage.object_requests import ObjectRequest, Requests, SentPart, StoredObject
from logpersister.storage.parts import Part, part_size

log = structlog.get_logger()

PARTS_IN_FLIGHT = 2
"""Parts of one object that are on their way while the next one is gathered."""


@dataclass(frozen=True, slots=True)
class WriterResources:
    """Resources that all writers of a process share."""

    requests: Requests
    senders: Executor
    """Threads that send bodies. They wait for nothing but the network."""
    finishers: Executor
    """Threads that wait for parts and then complete or abort the upload."""
    budget: ByteBudget
    put_facts: Callable[[ObjectRequest, Mapping[str, str]], None]
    drop_facts: Callable[[ObjectRequest], None]
    """Deletes it again, where the object is of another attempt."""
    sweep: Callable[[ObjectRequest, str], None]
    """Aborts the uploads of the object's key other than the given one, and deletes facts that no object has."""
    first_part: int
    """Bytes of the first parts; later ones grow, so that no object is too large for the number of parts."""


class ObjectWriter:
    """One object on its way into the bucket. Not thread-safe: one thread writes.

    Memory: one part being gathered, at most `PARTS_IN_FLIGHT` on their way.
    """

    def __init__(self, resources: WriterResources, request: ObjectRequest, *, sweep: bool) -> None:
        """Begin an object; nothing is sent yet. `sweep`: afterwards abort other uploads of the same key."""
        self._resources = resources
        self._request = request
        self._sweep = sweep
        self._part = Part(resources.first_part)
        self._slots = threading.Semaphore(PARTS_IN_FLIGHT)
        self._sent: list[Future[SentPart]] = []
        self._failed: BaseException | None = None
        self._upload: str | None = None
        self._ended = False
        self.bytes = 0

    @property
    def key(self) -> str:
        return self._request.key

    def write(self, data: Bytes) -> None:
        """Append `data`, which is kept and not copied: it must not change any more.

        Waits while too many parts are on their way. Raises StorageError when an earlier part failed.
        """
        self._check_open()
        view = memoryview(data).cast("B")
        self.bytes += len(view)
        while len(view) > 0:
            room = self._part.room
            self._part.add(view[:room])
            view = view[room:]
            if self._part.room == 0:
                self._send_part()

    def finish(self, facts: Mapping[str, str]) -> StoredObject:
        """Make the object durable and visible; on an error nothing of it stays. Raises StorageError."""
        return self.finish_async(facts).result()

    def finish_async(self, facts: Mapping[str, str]) -> Future[StoredObject]:
        """Do as `finish`, in the background. Waits only while too many bytes of this process are on their way."""
        self._check_open()
        if self._upload is None:
            future = self._put(facts)
        else:
            if self._part.length:
                self._send_part()
            future = self._resources.finishers.submit(self._complete, dict(facts))
        self._ended = True
        return future

    def abort(self) -> None:
        """Give up; nothing of the object becomes visible. Returns at once, errors are logged. May be called again."""
        if self._ended:
            return
        self._ended = True
        self._part = Part(0)
        if self._upload is not None:
            self._resources.finishers.submit(self._abandon)

    def _put(self, facts: Mapping[str, str]) -> Future[StoredObject]:
        body, self._part = self._part.body(), Part(0)
        budget, size = self._resources.budget, len(body)
        budget.take(size)
        future = self._resources.senders.submit(self._resources.requests.put, self._request, body, dict(facts))
        # A future keeps what it calls: not the body, since the futures of thousands of objects may be kept.
        future.add_done_callback(lambda _: budget.give_back(size))
        if self._sweep:
            return self._resources.finishers.submit(self._sweep_after, future)
        return future

    def _send_part(self) -> None:
        number = len(self._sent) + 1
        next_size = part_size(number + 1, self._resources.first_part)
        if self._upload is None:
            self._upload, repeated = self._resources.requests.create(self._request)
            self._sweep = self._sweep or repeated
        self._slots.acquire()
        if self._failed is not None:
            self._slots.release()
            self._check_open()
        body, self._part = self._part.body(), Part(next_size)
        self._resources.budget.take(len(body))
        send: Callable[[], SentPart] = partial(self._resources.requests.send, self.key, self._upload, number, body)
        future = self._resources.senders.submit(send)
        self._sent.append(future)
        future.add_done_callback(partial(self._part_done, len(body)))

    def _part_done(self, size: int, future: Future[SentPart]) -> None:
        self._resources.budget.give_back(size)
        if not future.cancelled() and future.exception() is not None:
            self._failed = self._failed or future.exception()
        self._slots.release()

    def _complete(self, facts: Mapping[str, str]) -> StoredObject:
        """Wait for the parts, store the facts, then make the object visible. Runs in a finisher."""
        assert self._upload is not None, "only multipart uploads are completed"
        try:
            parts = [future.result() for future in self._sent]
            # Before the object can be seen, so that whoever sees it finds its facts.
            self._resources.put_facts(self._request, facts)
            stored = self._resources.requests.complete(self._request, self._upload, parts, self.bytes)
        except BaseException:
            self._abandon()
            raise
        if stored.existing:
            self._resources.drop_facts(self._request)
        if self._sweep:
            self._resources.sweep(self._request, self._upload)
        return stored

    def _sweep_after(self, put: Future[StoredObject]) -> StoredObject:
        stored = put.result()
        self._resources.sweep(self._request, "")
        return stored

    def _abandon(self) -> None:
        """Abort the upload once no part is on its way: a part that arrives later would be kept, and paid for."""
        assert self._upload is not None, "only multipart uploads are aborted"
        for future in self._sent:
            if not future.cancel():
                future.exception()
        try:
            self._resources.requests.abort(self.key, self._upload)
        except Exception as error:  # noqa: BLE001 - the next execution sweeps; the first error is the news
            log.warning("upload.abort_failed", key=self.key, error=str(error))

    def _check_open(self) -> None:
        if self._ended:
            raise ValueError(f"the upload of {self.key!r} has already been finished or aborted")
        if self._failed is not None:
            raise self._failed
