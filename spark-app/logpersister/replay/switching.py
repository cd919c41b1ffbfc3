"""Says which generation of a topic counts, and finds what may be deleted then.

Everything goes by the document (`storage.current`), which is changed by compare-and-set. What one process has read of
it is old when another one begins a replay or switches: so nothing is deleted by it that was listed after it was read.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Final

from logpersister.storage.current import Current
from logpersister.storage.names import ObjectName
from logpersister.storage.replayed import ReplayNote
from logpersister.storage.store import ListedObject, ObjectStore

AT_ONCE: Final = 1000
"""Objects that are listed before the document is read again: as many as one request deletes."""

Change = Callable[[Current], Current]


class SwitchError(Exception):
    """A topic cannot be switched as it was asked for; the message says why, and what to do."""


class NoGenerationError(SwitchError):
    """The topic has nothing of the generation."""


def change_to(
    store: ObjectStore, topic: str, generation: int, notes: Sequence[ReplayNote], *, delete_old: bool
) -> Change:
    """Return what becomes of the document of a topic when a generation counts: that of a replay, or of members.

    Raises SwitchError, as the change does where it would count what has gone; and StorageError.

    Args:
        delete_old: whether the objects of members are to be deleted that a replay replaces.
    """
    note = next((one for one in notes if one.generation == generation), None)
    if note is not None:
        if not note.done:
            raise SwitchError(
                f"topic {topic}: the replay into generation {generation} is not finished; repeat logpersister replay "
                "until it is"
            )
        return lambda current: _switched(current, note, delete_old=delete_old)
    topic_id = _topic_of_members(store, topic, generation, notes)
    return lambda current: _switched_back(topic, generation, current.about(topic_id))


def _switched(current: Current, note: ReplayNote, *, delete_old: bool) -> Current:
    switched = current.switched(note.generation, note.bounds)
    return switched.without_old() if delete_old else switched


def _switched_back(topic: str, generation: int, current: Current) -> Current:
    for partition, spans in sorted(current.deleted.items()):
        gone = ", ".join(f"[{start}, {end})" for start, end in spans)
        raise SwitchError(
            f"--to-generation {generation}: --delete-old has deleted what members had stored of partition {partition} "
            f"of topic {topic} in {gone}, so nothing would count there; make these offsets again with "
            "logpersister replay in a higher generation, and switch to that"
        )
    return current.switched_back()


def _topic_of_members(store: ObjectStore, topic: str, generation: int, notes: Sequence[ReplayNote]) -> str | None:
    """Return the id of the topic of which a generation is.

    Raises NoGenerationError where it has nothing: a mistyped number must not switch back.
    """
    for name, listed in store.inventory(topic):
        if name.generation == generation:
            facts = store.facts(listed.key)
            if facts is not None:
                return facts.topic_id
    replays = ", ".join(str(one.generation) for one in notes)
    raise NoGenerationError(f"--to-generation {generation}: topic {topic} has no object of it; replays: {replays}")


def replaced(store: ObjectStore, topic: str, current: Callable[[], Current]) -> Iterator[ListedObject]:
    """Yield the objects of members that a replay has replaced for good; other replays stay: one may switch to them.

    Args:
        current: reads the document. It knows a replay before that has an object: so it is read behind the listing.
    """
    listing: Iterator[tuple[ObjectName, ListedObject]] = iter(store.inventory(topic))
    while some := list(islice(listing, AT_ONCE)):
        now = current()
        yield from (listed for name, listed in some if now.is_replaced(name))
