"""Reads ranges of Kafka topics as Arrow record batches."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeVar

import pyarrow as pa

from logpersister.pipeline.reader import decode as decoding
from logpersister.pipeline.reader.batches import Piece
from logpersister.pipeline.reader.connection import KafkaCluster
from logpersister.pipeline.reader.decode import Decoded, Selected
from logpersister.pipeline.reader.errors import NONE, RangeReadError
from logpersister.pipeline.reader.fetch import RangeState, ReadRequest
from logpersister.pipeline.reader.fetching import Fetching
from logpersister.pipeline.reader.inbox import Inbox
from logpersister.pipeline.reader.messages import Cluster, ClusterError, Stats, Topology
from logpersister.pipeline.reader.settings import ReaderSettings
from logpersister.ranges import Offset, Range, TopicPartition, topic_id_text
from logpersister.records.schema import RECORDS, RECORDS_WITH_HEADERS

_Seen = TypeVar("_Seen", Decoded, Selected)
_Sampled = TypeVar("_Sampled")

_SAMPLE_OFFSETS = 1 << 40
"""More offsets than any answer has."""


class ClosableCluster(Cluster, Protocol):
    """A cluster with connections of its own."""

    def close(self) -> None: ...


class RangeRead(Protocol):
    """One range being read."""

    range: Range

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the records in offset order, schema `records.schema.RECORDS` or `RECORDS_WITH_HEADERS`.

        When it ends, every offset of the range was seen. Raises `RangeReadError`, for this range only.
        """

    def verbatim(self) -> Iterator[Selected]:
        """Yield the record batches of the range as they are, instead of `batches`, and with the same promises.

        What they hold of other offsets than the range's is not counted.
        """

    @property
    def unexplained(self) -> int:
        """Offsets at the end of the range for which there was only silence: no record batch has or follows them.

        Known when `batches` or `verbatim` has ended. 0 nearly always: where compaction or a transaction leaves no
        record, a batch that follows shows it.
        """


class KafkaReader:
    """Reads ranges. For one thread at a time; connects on first use, again after an error of the connection.

    May be made before a fork and used after it: each process has its own connections.
    """

    def __init__(
        self,
        client_config: Mapping[str, Any],
        settings: ReaderSettings | None = None,
        *,
        connect: Callable[[Mapping[str, Any], ReaderSettings], ClosableCluster] = KafkaCluster,
        inbox: Callable[[], Inbox] = Inbox,
    ) -> None:
        """Connect later. ``client_config`` are keyword arguments as all of kafka-python's clients take them."""
        self.settings = settings or ReaderSettings()
        self.stats = Stats()
        self._config = dict(client_config)
        self._connect, self._make_inbox = connect, inbox
        self._cluster: ClosableCluster | None = None
        self._process = 0
        self._topology: Topology | None = None

    def read(self, requests: Sequence[ReadRequest]) -> Iterator[RangeRead]:
        """Yield the ranges in an order of the reader's own: ranges of one leader follow each other.

        Each must be consumed, or given up, before the next one is taken. Nothing is raised here: what concerns a
        range is raised by its `RangeRead.batches`.
        """
        if not requests:
            return
        try:
            cluster = self._open()
        except ClusterError as error:
            yield from (_UnreachableRange(request.range, error) for request in requests)
            return
        fetching = self._fetching(cluster, requests)
        fetching.sort()
        try:
            for state in fetching.states:
                try:
                    yield _FetchedRange(self.settings, fetching, state)
                finally:
                    fetching.close(state)
        finally:
            self._finished(fetching)

    def sample(self, partition: TopicPartition, start: Offset, max_bytes: int) -> pa.RecordBatch:
        """Return what one fetch of about ``max_bytes`` gives from ``start``; no rows at the end of the log.

        For learning sizes, not for copying: where it ends is left to chance. Raises `RangeReadError`.
        """
        batches = self._sampled(partition, start, max_bytes, lambda read: read.batches())
        return pa.Table.from_batches(batches).combine_chunks().to_batches()[0] if batches else _no_rows(self.settings)

    def sample_verbatim(self, partition: TopicPartition, start: Offset, max_bytes: int) -> tuple[int, int] | None:
        """Return how many offsets from ``start`` on such a fetch covers, and the bytes of their record batches."""
        found = self._sampled(partition, start, max_bytes, lambda read: read.verbatim())
        stored = sum(len(piece) for selected in found for piece in selected.pieces)
        return (found[-1].next_offset - start, stored) if stored else None

    def _sampled(
        self, partition: TopicPartition, start: Offset, max_bytes: int, read: Callable[[RangeRead], Iterator[_Sampled]]
    ) -> list[_Sampled]:
        request = ReadRequest(Range(partition, start, start + _SAMPLE_OFFSETS), max_bytes)
        try:
            cluster = self._open()
        except ClusterError as error:
            raise _no_connection(request.range, error) from error
        fetching = self._fetching(cluster, [request], once=True)
        (state,) = fetching.states
        try:
            return list(read(_FetchedRange(self.settings, fetching, state)))
        finally:
            fetching.close(state)
            self._finished(fetching)

    def another(self) -> "KafkaReader":
        """Return a reader like this one, with connections of its own."""
        return KafkaReader(self._config, self.settings, connect=self._connect, inbox=self._make_inbox)

    def close(self) -> None:
        """Close the connections. The reader can be used again afterwards."""
        cluster, self._cluster, self._topology = self._cluster, None, None
        if cluster is not None:
            cluster.close()

    def _open(self) -> ClosableCluster:
        if self._cluster is not None and self._process != os.getpid():
            self.close()
        if self._cluster is None:
            self._cluster, self._process = self._connect(self._config, self.settings), os.getpid()
        return self._cluster

    def _fetching(self, cluster: Cluster, requests: Sequence[ReadRequest], *, once: bool = False) -> Fetching:
        inbox = self._make_inbox()
        topology = self._topology
        if topology is None or not _covers(topology, requests, inbox.now() - self.settings.metadata_age):
            topology = None
        return Fetching(cluster, requests, self.settings, inbox=inbox, stats=self.stats, topology=topology, once=once)

    def _finished(self, fetching: Fetching) -> None:
        self._topology = fetching.leaders.topology
        kinds = {state.error.kind for state in fetching.states if state.error is not None}
        if kinds & {"kafka", "unauthorized"}:
            self.close()  # begin the next call with new connections, new credentials and new addresses


class _FetchedRange:
    """A range whose records a `Fetching` brings."""

    def __init__(self, settings: ReaderSettings, fetching: Fetching, state: RangeState) -> None:
        self.range = state.request.range
        self._settings, self._fetching, self._state = settings, fetching, state

    def batches(self) -> Iterator[pa.RecordBatch]:
        for decoded in self._read(self._decoded):
            if decoded.batch.num_rows:
                yield decoded.batch

    def verbatim(self) -> Iterator[Selected]:
        return self._read(self._selected)

    @property
    def unexplained(self) -> int:
        return self._state.unexplained

    def _read(self, read: Callable[[Piece, Offset], _Seen]) -> Iterator[_Seen]:
        """Yield what `read` makes of each piece, from an offset on, and fetch again what is damaged."""
        while (piece := self._fetching.take(self._state)) is not None:
            position, until = piece.start, min(piece.next_offset, self.range.end)
            while position < until:
                try:
                    seen = read(piece, position)
                except decoding.CorruptBatchError as error:
                    self._fetching.corrupt(self._state, position, str(error))
                    break
                if seen.next_offset <= position:
                    reason = f"{len(piece.data)} bytes should hold offsets up to {until} and do not"
                    self._fetching.corrupt(self._state, position, reason)
                    break
                position = seen.next_offset
                yield seen

    def _decoded(self, piece: Piece, start: Offset) -> Decoded:
        return decoding.decode(
            piece.data,
            start,
            self.range.end,
            aborted=piece.aborted,
            read_committed=self._settings.read_committed,
            headers=self._settings.headers,
            max_bytes=self._settings.decoded_bytes,
        )

    def _selected(self, piece: Piece, start: Offset) -> Selected:
        committed = self._settings.read_committed
        return decoding.select(piece.data, start, self.range.end, aborted=piece.aborted, read_committed=committed)


class _UnreachableRange:
    """A range of a cluster that could not be connected to."""

    unexplained = 0

    def __init__(self, requested: Range, error: ClusterError) -> None:
        self.range, self._error = requested, error

    def batches(self) -> Iterator[pa.RecordBatch]:
        raise _no_connection(self.range, self._error) from self._error

    def verbatim(self) -> Iterator[Selected]:
        raise _no_connection(self.range, self._error) from self._error


def _no_connection(requested: Range, error: ClusterError) -> RangeReadError:
    if error.unauthorized:
        reason = f"brokers refused the login: {error}"
        return RangeReadError("unauthorized", requested.partition, requested.start, reason)
    reason = f"no broker could be reached: {error}"
    return RangeReadError("kafka", requested.partition, requested.start, reason, retriable=True)


def _no_rows(settings: ReaderSettings) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([], schema=RECORDS_WITH_HEADERS if settings.headers else RECORDS)


def _covers(topology: Topology, requests: Sequence[ReadRequest], not_older_than: float) -> bool:
    """Whether what is known of the cluster is good enough to begin with: leaders change seldom, topics rarely."""

    def known(request: ReadRequest) -> bool:
        location = topology.of(request.range.partition)
        same_topic = request.topic_id is not None and request.topic_id == topic_id_text(location.topic_id)
        return location.error == NONE and location.leader is not None and same_topic

    return topology.time >= not_older_than and all(known(request) for request in requests)
