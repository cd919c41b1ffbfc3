"""Accounts for the bytes that are fetched or asked for, so that they stay within the limit."""

from logpersister.pipeline.reader.batches import Piece
from logpersister.pipeline.reader.fetch import Frame, RangeState
from logpersister.pipeline.reader.messages import FetchCall, Stats


class Buffer:
    """What is in memory, or will be when the answers under way come."""

    def __init__(self, limit: int, stats: Stats) -> None:
        self._limit, self._stats = limit, stats
        self._used = 0
        self._handed_out: Frame | None = None

    @property
    def free(self) -> int:
        """Bytes left; negative when a single record batch was larger than what was left."""
        return self._limit - self._used

    def reserve(self, call: FetchCall) -> None:
        """Count the answer before it comes."""
        self._use(call.max_bytes)

    def answered(self, call: FetchCall) -> None:
        """Count the answer no longer: it did not come, or `hold` counts it."""
        self._used -= call.max_bytes

    def hold(self, size: int) -> Frame:
        """Count an answer that came; `release` what is returned once it is taken apart."""
        self._use(size)
        return Frame(size, uses=1)

    def add(self, state: RangeState, piece: Piece, frame: Frame) -> None:
        frame.uses += 1
        state.pieces.append((piece, frame))

    def release(self, frame: Frame) -> None:
        frame.uses -= 1
        if not frame.uses:
            self._used -= frame.size

    def hand_out(self, state: RangeState) -> Piece:
        """Return the oldest piece; it counts until `take_back`."""
        piece, self._handed_out = state.pieces.popleft()
        return piece

    def take_back(self) -> None:
        """The piece that was handed out last is not used any more."""
        if self._handed_out is not None:
            self.release(self._handed_out)
            self._handed_out = None

    def drop(self, state: RangeState) -> None:
        """Forget the pieces of a range."""
        while state.pieces:
            piece, frame = state.pieces.pop()
            self._stats.wasted_bytes += len(piece.data)
            self.release(frame)

    def _use(self, size: int) -> None:
        self._used += size
        self._stats.peak_buffer_bytes = max(self._stats.peak_buffer_bytes, self._used)
