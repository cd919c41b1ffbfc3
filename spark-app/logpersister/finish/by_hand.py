"""Finishes folders by hand: decides as members do, for a span of time, and gives the reason for each folder.

Members may work beside it: whoever is second changes nothing.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from logpersister.finish.folders import existing_folders
from logpersister.finish.look import TopicFolders
from logpersister.finish.positions import Positions
from logpersister.finish.publishing import Published
from logpersister.finish.watermark import at
from logpersister.records.time_folders import TimeFolder


class State(StrEnum):
    """State of a folder after the command."""

    FINISHED = "finished"
    """Finished before; nothing new has come."""
    NOW = "finished-now"
    """Finished by this command, or published again with new content; a dry run says that it would be."""
    WAITS = "waits"
    """A partition has not passed its end."""
    OPEN = "open"
    """The folder's time is not over by the clock."""


@dataclass(frozen=True, slots=True)
class Judged:
    """State of a folder, with the reason or the result."""

    folder: TimeFolder
    state: State
    reasons: Mapping[int, str] = field(default_factory=dict)
    """Why partitions have not passed its end, by partition."""
    reason: str = ""
    """Why it is open, or is made known anew."""
    published: Published | None = None


SOMETHING_CAME = "something has come into it since it was finished"


def judge(
    folders: TopicFolders,
    arrivals: Sequence[str] = (),
    *,
    since: int | None = None,
    until: int | None = None,
    dry_run: bool = False,
) -> list[Judged]:
    """Judge the folders of a topic, oldest first, and finish those that can be.

    Args:
        arrivals: names of the notes of arrivals of the topic, listed before.
        since: folders that end behind this instant (milliseconds since the epoch), also finished ones into which
            nothing has come. None: those that are not finished yet, and those of which a note tells that something has.
        until: folders that end there or before. None: all.

    Raises StorageError, ForeignObjectError, OvertakenError, NotKnownError, KafkaError.
    """
    before, over = folders.finished_to(), folders.passing.over_to()
    done = None if before is None else before.end
    after = done if since is None else since
    positions = folders.passing.positions()
    outer, until = folders.spec.outer_levels, until or 1 << 62
    found = existing_folders(folders.store, folders.topic, folders.layout, after=after, until=until, outer=outer)
    over_now = {folder.end for folder in found if folder.end <= over and (done is None or folder.end > done)}
    waits = _waits(folders, positions, over_now)
    judged = [_judged(folders, folder, positions, done, over, waits, dry_run=dry_run) for folder in found]
    finished = [one.folder.end for one in judged if one.state is State.NOW]
    if finished and not dry_run and (since is None or since <= (done if done is not None else -1)):
        done = max(finished)
        folders.finish_to(done, positions)
    if since is not None:
        return judged
    return _late(folders, arrivals, positions, done, until, {one.folder for one in judged}, dry_run=dry_run) + judged


def _late(
    folders: TopicFolders,
    arrivals: Sequence[str],
    positions: Positions,
    done: int | None,
    until: int,
    judged: Collection[TimeFolder],
    *,
    dry_run: bool,
) -> list[Judged]:
    """Take in what has come into finished folders, as members do; return those that were not judged a moment ago."""
    arrived = folders.arrived(arrivals, positions, done)
    chosen = {key: some for key, some in arrived.items() if max(folder.end for folder in some) <= until}
    if dry_run:
        every = set[TimeFolder]().union(*chosen.values())
        return [Judged(folder, State.NOW, reason=SOMETHING_CAME) for folder in sorted(every)]
    found = {one.folder: one.published for one in folders.take_in([*chosen], positions, done)}
    return [
        Judged(folder, State.NOW, reason=SOMETHING_CAME, published=published)
        for folder, published in sorted(found.items())
        if published.changed and folder not in judged
    ]


def _waits(folders: TopicFolders, positions: Positions, ends: Collection[int]) -> dict[int, Mapping[int, str]]:
    """Return why folders wait, by their ends; those that are missing do not.

    The last ones are asked about first: who has passed an instant has passed all before it, also where that was not so
    a moment ago. Otherwise a record that comes meanwhile would finish a folder, and leave an earlier one behind.
    """
    waits: dict[int, Mapping[int, str]] = {}
    for end in sorted(ends, reverse=True):
        reasons = folders.passing.waits(positions, end)
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
        return Judged(folder, State.OPEN, reason=f"until {at(folder.end + folders.spec.lateness_ms)} by the clock")
    if folder.end in waits:
        return Judged(folder, State.WAITS, waits[folder.end])
    if dry_run:
        return Judged(folder, State.FINISHED if late else State.NOW)
    published = folders.publish(folder, positions, late=late)
    return Judged(folder, State.NOW if published.changed or not late else State.FINISHED, published=published)
