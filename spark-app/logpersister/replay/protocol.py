"""Next step for an object in quarantine. Pure; argues why no record is lost or in two live objects.

Three things stand in the bucket: the *source* (an object in quarantine), the *note* of its replay, and the replay's
*objects*, whose names no other replay and no member gives. A record is **live** in the source until the note is
settled, and in the objects from then on.

=======  =======  ==============================================================
note     source   next step
=======  =======  ==============================================================
none     there    BEGIN: put the note, if there is none, under our revision
begun    there    WRITE all objects as the note's revision says, then settle the note
settled  there    DELETE the source
settled  gone     DONE
none     gone     DONE: deleted by a person
begun    gone     LOST: somebody deleted the source while its records were nowhere else
=======  =======  ==============================================================

What a replay refuses is one of its objects, and stands in quarantine: the source of a later replay, which WAITs until
the first one is settled.

1. *One revision replays a source.* BEGIN writes only if there is no note, and no step replaces the source or the
   revision of a note. So all replays of a source, at the same time or after a crash, write the same objects.
2. *Nothing is deleted that does not stand elsewhere*, but for what the note's revision leaves out, if a person has
   allowed that before the note was put. Else these records are in an object of the replay, in quarantine, with what it
   refuses. The note says which of both, and how many these are. Only a settled note leads to DELETE; a note is
   settled only by a process that has read the whole source (its records have the checksum of the note) and to which the
   bucket has confirmed each object; and who has not just done that looks whether they are still there.
3. *A paused process repeats, and changes nothing.* Its BEGIN finds a note. Its WRITE reads what the note is about, and
   gives the same objects, or fails because the source has gone. Its DELETE removes what the settled note has replaced.
4. *A member beside it.* A source is replayed once its range is committed, and nobody writes a committed range but who
   executes its intent again, as it was: a zombie, or a recovery after Kafka forgot the group. That gives the same
   source (or, after a compaction, less of it) beside a settled note: it is not live, and the next replay deletes it.
   While a recovery may be ahead, nothing is replayed: it could list neither the source any more nor its objects yet.

The source is looked at *before* the note: a note that is begun then proves that nobody had deleted the source when it
was found missing. `tests/unit/replay/test_replay.py` lets a replay die, or stand still while others work, at each of
its requests.
"""

from enum import Enum, auto

from logpersister.plan.intents import CommittedOffset, same_topic
from logpersister.storage.replays import Replay, Source


class Step(Enum):
    """Next step of a replay."""

    BEGIN = auto()
    WRITE = auto()
    DELETE = auto()
    DONE = auto()
    WAIT = auto()
    """Nothing is done: the source is an object of a replay that is not settled, so its records are live elsewhere."""
    LOST = auto()
    """Nothing can be done: the records are gone."""
    CHANGED = auto()
    """Nothing is done: the source has not the records that the note is about."""


def next_step(source: Source | None, note: Replay | None, *, is_live: bool = True) -> Step:
    """Return the next step for an object in quarantine.

    Args:
        source: what stands in the bucket, looked at first; None: nothing.
        note: of its replay, looked at then.
        is_live: False where the source is an object of another replay that was not settled when it was looked at.
    """
    if not is_live:
        return Step.WAIT
    if note is None:
        return Step.DONE if source is None else Step.BEGIN
    if source is None:
        return Step.DONE if note.settled else Step.LOST
    if note.settled:
        return Step.DELETE if note.source.covers(source) else Step.CHANGED
    return Step.WRITE if note.source == source else Step.CHANGED


def may_be_written(source: Source, committed: CommittedOffset | None) -> bool:
    """Return whether a member may still be at work on the range of a source, which then is not replayed yet."""
    if committed is None or committed.metadata is None:
        return True  # who owns the partition next finds its position by the objects, and none may go while he looks
    metadata = committed.metadata
    if not same_topic(metadata.topic_id, source.topic_id):
        return False  # the range is of a topic that was deleted since
    if metadata.generation > source.generation:
        return False
    return committed.offset < source.range.end
