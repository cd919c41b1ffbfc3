"""Archives of finished folders in the place of the objects that they are made of."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from logpersister.finish.archiving import NUMBER, POLICY
from logpersister.records.escaping import ARCHIVES, is_aside
from logpersister.records.time_folders import TimeFolder
from logpersister.retrieve.selection import Selected, Wanted
from logpersister.storage import names
from logpersister.storage.asking import ask_each
from logpersister.storage.finished import folder_content
from logpersister.storage.store import ObjectStore


def with_archives(store: ObjectStore, group: str, selected: Selected) -> Selected:
    """Return a selection with one archive for each folder that has one of its present content. Raises StorageError.

    Objects that are in no archive yet stay: those of folders that are not finished, and what came late a moment ago.
    """
    folders = dict.fromkeys(one.folder for one in selected.objects if one.folder is not None)

    def archived(folder: TimeFolder) -> tuple[Wanted, frozenset[str]] | None:
        return None if is_aside(folder.path) else _archive_of(store, group, selected.topic, folder)

    found = [one for one in ask_each(archived, folders) if one is not None]
    covered = frozenset[str]().union(*(keys for _, keys in found))
    left = [one for one in selected.objects if one.key not in covered]
    return replace(selected, objects=[*left, *(archive for archive, _ in found)])


def _archive_of(store: ObjectStore, group: str, topic: str, folder: TimeFolder) -> tuple[Wanted, frozenset[str]] | None:
    """Return the archive of a folder, and the names of the objects that it is made of."""
    noted = folder_content(store, group, topic, folder.path)
    if noted is None or noted[0].told.get(POLICY, 0) < noted[0].number:
        return None
    root = names.topic_prefix(store.prefix, topic)
    versions = [*store.list_objects(f"{root}{ARCHIVES}/{folder.path}/")]
    if not versions:
        return None  # it was deleted
    newest = max(versions, key=lambda one: _number(store, one.key)) if len(versions) > 1 else versions[0]
    archive = Wanted(newest.key, newest.size, topic, folder.path, folder)
    return archive, frozenset(f"{root}{folder.path}/{one.name}" for one in noted[0].objects)


def _number(store: ObjectStore, key: str) -> int:
    number = (store.metadata(key) or {}).get(NUMBER, "")
    return int(number) if number.isdecimal() else 0


def in_folders(selected: Selected, folders: Sequence[str]) -> Selected:
    """Return what of a selection stands in one of these folders below that of its topic."""
    return replace(selected, objects=[*_inside(selected.objects, folders)])


def _inside(objects: Sequence[Wanted], folders: Sequence[str]) -> Iterator[Wanted]:
    wanted = tuple(f"{folder.strip('/')}/" for folder in folders)
    yield from (one for one in objects if f"{one.path}/".startswith(wanted))
