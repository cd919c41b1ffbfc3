"""Interprets the offsets that a leader has, for a range that it gives no records for. No I/O."""

import structlog

from logpersister.pipeline.reader.fetch import RangeState
from logpersister.pipeline.reader.messages import LogOffsets
from logpersister.pipeline.reader.retries import fail

log = structlog.get_logger()


def out_of_range(state: RangeState, offsets: LogOffsets) -> bool:
    """Fail a range whose position the log does not have; return False when it has it: the leader changed meanwhile."""
    if state.position < offsets.start:
        reason = f"the log begins at {offsets.start}: records were deleted before they were read"
        fail(state, "data-lost", reason, offsets)
    elif state.position > offsets.end:
        truncated(state, offsets)
    else:
        return False
    return True


def truncated(state: RangeState, offsets: LogOffsets) -> None:
    """Fail a range whose records are gone from the end of the log."""
    reason = (
        f"the log ends at {offsets.end}, before records that were there: "
        "a replica that lacked them was elected leader (unclean leader election)"
    )
    fail(state, "truncated", reason, offsets)


def nothing_left(state: RangeState, offsets: LogOffsets) -> bool:
    """Complete a range that has no more records; return False when that is not sure.

    Compaction can leave nothing up to the end of the log; brokers then answer with nothing for ever. Believed only
    where records can be in no place but the leader's own disk: what is in tiered storage is also missing from an
    answer when that storage is slow.
    """
    if offsets.local_start > state.position or offsets.end < state.end:
        return False
    log.info("reader.nothing_left", range=str(state.request.range), offset=state.position)
    state.unexplained = state.end - state.position
    state.position = state.end
    return True
