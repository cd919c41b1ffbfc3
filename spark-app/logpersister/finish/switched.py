"""Notes which finished folders a switch between generations has changed: members make them known again."""

from collections import defaultdict

from logpersister.manifest.spec import Spec
from logpersister.ranges import Range, TopicPartition
from logpersister.records.type_folders import finished_folders
from logpersister.storage.current import Current
from logpersister.storage.finished import Arrival, note_arrival
from logpersister.storage.store import ObjectStore

_BEFORE_ALL: int = 0
"""Generation of such an arrival: lower than that of members, as all of it is committed."""


def note_switch(store: ObjectStore, group: str, topic: str, spec: Spec, current: Current) -> int:
    """Note the folders of all that replays have stored again; return how many. Raises StorageError.

    Who has died behind a switch repeats it, so folders are noted whether or not they have changed.
    """
    found = finished_folders(spec)
    if found is None:
        return 0
    _, layout = found
    paths: defaultdict[int, set[str]] = defaultdict(set)
    for name, _ in store.inventory(topic):
        folder = layout.folder_of(name.path) if current.is_replayed(name.partition, name.start) else None
        if folder is not None:
            paths[name.partition].add(folder.path)
    for partition, of_partition in sorted(paths.items()):
        spans = [bounds[partition] for bounds in current.replays.values() if partition in bounds]
        range_ = Range(TopicPartition(topic, partition), min(one[0] for one in spans), max(one[1] for one in spans))
        note_arrival(store, group, Arrival(range_, _BEFORE_ALL, tuple(sorted(of_partition))))
    return len(set().union(*paths.values()))
