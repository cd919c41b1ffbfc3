"""Folders finished by hand: the same decisions as those of members, for a span of time, with the reasons for each.

Members may work beside it: whoever is second changes nothing.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from logpersister.finish.folders import existing_folders
from logpersister.finish.look import TopicFolders
from logpersister.finish.positions import Positions
from logpersister.finish.publishing import Published
from logpersister.finish.watermark import at
from logpersister.records.time_folders import TimeFolder


class State(StrEnum):
    """What a folder is."""

    FINISHED = "finished"
    """It was before, and has nothing new."""
    NOW = "finished-now"
    """It was finished by this, or its content made known anew; without writing: it would be."""
    WAITS = "waits"
    """A partition has not passed its end."""
    OPEN = "open"
    """Its time is not over by the clock."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What was said of a folder, and done."""

    folder: TimeFolder
    state: State
    reasons: Mapping[int, str] = field(default_factory=dict)
    """Why partitions have not passed its end, by partition."""
    reason: str = ""
    """Of an open one."""
    published: Published | None = None


def judge(
    folders: TopicFolders, *, since: int | None = None, until: int | None = None, dry_run: bool = False
) -> list[Judged]:
    """Judge the folders of a topic, oldest first, and finish those that can be.

    Args:
        folders: the topic.
        since: folders that end behind this instant (milliseconds since the epoch), finished ones, too. None: those
            that are not finished yet.
        until: folders that end there or before. None: all.
        dry_run: write nothing.

    Raises StorageError, ForeignObjectError, OvertakenError, NotKnownError, KafkaError.
    """
    before, over = folders.finished_to(), folders.over_to()
    done = None if before is None else before.end
    after = done if since is None else since
    positions = folders.positions()
    outer, until = folders.spec.outer_levels, until or 1 << 62
    found = existing_folders(folders.store, folders.topic, folders.layout, after=after, until=until, outer=outer)
    over_now = {folder.end for folder in found if folder.end <= over and (done is None or folder.end > done)}
    waits = _waits(folders, positions, over_now)
    judged = [_judged(folders, folder, positions, done, over, waits, dry_run=dry_run) for folder in found]
    finished = [one.folder.end for one in judged if one.state is State.NOW]
    if finished and not dry_run and (since is None or since <= (done if done is not None else -1)):
        folders.finish_to(max(finished), positions)
    return judged


def _waits(folders: TopicFolders, positions: Positions, ends: Collection[int]) -> dict[int, Mapping[int, str]]:
    """Return why folders wait, by their ends; those that are missing do not.

    The last ones are asked about first: who has passed an instant has passed all before it, also where that was not so
    a moment ago. Otherwise a record that comes meanwhile would finish a folder, and leave an earlier one behind.
    """
    waits: dict[int, Mapping[int, str]] = {}
    for end in sorted(ends, reverse=True):
        reasons = folders.waits(positions, end)
        if not reasons:
            break
        waits[end] = reasons
    return waits


def _judged(
    folders: TopicFolders,
    folder: TimeFolder,
    positions: Positions,
    done: int | None,
    over: int,
    waits: Mapping[int, Mapping[int, str]],
    *,
    dry_run: bool,
) -> Judged:
    late = done is not None and folder.end <= done
    if not late and folder.end > over:
        return Judged(folder, State.OPEN, reason=f"until {at(folder.end + folders.lateness_ms)} by the clock")
    if folder.end in waits:
        return Judged(folder, State.WAITS, waits[folder.end])
    if dry_run:
        return Judged(folder, State.FINISHED if late else State.NOW)
    published = folders.publish(folder, positions, late=late)
    return Judged(folder, State.NOW if published.changed or not late else State.FINISHED, published=published)
