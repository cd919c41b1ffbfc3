"""Archives of finished folders in the place of the objects that they are made of."""

from collections.abc import Sequence
from dataclasses import replace

from logpersister.finish.archive_versions import NUMBER
from logpersister.finish.folders import existing_folders
from logpersister.manifest.blocks.finish import ARCHIVE
from logpersister.records.escaping import ARCHIVES
from logpersister.records.time_folders import TimeFolder
from logpersister.records.type_folders import AnyFolders
from logpersister.retrieve.selection import ALWAYS, Selected, Wanted, Window
from logpersister.storage import names
from logpersister.storage.asking import ask_each
from logpersister.storage.finished import folder_content
from logpersister.storage.store import ObjectStore


def with_archives(store: ObjectStore, group: str, selected: Selected, layout: AnyFolders, window: Window) -> Selected:
    """Return a selection with the archives in a window, in the place of what they are made of. Raises StorageError.

    Objects that are in no archive yet stay: those of folders that are not finished, and what came late a moment ago.
    """
    until = ALWAYS if window.until is None else layout.all_over(window.until)
    there = existing_folders(store, selected.topic, layout, after=window.since, until=until, below=f"{ARCHIVES}/")
    folders = [one for one in there if window.meets(layout.begin_of(one), one.end)]
    found = [*ask_each(lambda folder: _archive_of(store, group, selected.topic, folder), folders)]
    archives = [archive for archive, _ in found if archive is not None]
    covered = frozenset[str]().union(*(keys for _, keys in found))
    left = [one for one in selected.objects if one.key not in covered]
    objects = [*left, *archives]
    if window.is_all or not archives:
        return replace(selected, objects=objects)
    begins, ends = [layout.begin_of(one) for one in folders], [one.end for one in folders]
    begin = min(begins if selected.begin is None else [*begins, selected.begin])
    return replace(selected, objects=objects, begin=begin, end=max([*ends, selected.end or 0]))


def _archive_of(store: ObjectStore, group: str, topic: str, folder: TimeFolder) -> tuple[Wanted | None, frozenset[str]]:
    # First: what is noted as archived is in what is listed then.
    noted = folder_content(store, group, topic, folder.path)
    root = names.topic_prefix(store.prefix, topic)
    versions = [*store.list_objects(f"{root}{ARCHIVES}/{folder.path}/")]
    if not versions:
        return None, frozenset()  # it was deleted a moment ago
    newest = max(versions, key=lambda one: _number(store, one.key)) if len(versions) > 1 else versions[0]
    archive = Wanted(newest.key, newest.size, topic, folder.path, folder)
    if noted is None or noted[0].told.get(ARCHIVE, 0) < noted[0].number:
        return archive, frozenset()
    return archive, frozenset(f"{root}{folder.path}/{one.name}" for one in noted[0].objects)


def _number(store: ObjectStore, key: str) -> int:
    number = (store.metadata(key) or {}).get(NUMBER, "")
    return int(number) if number.isdecimal() else 0


def in_folders(selected: Selected, folders: Sequence[str]) -> Selected:
    """Return what of a selection stands in one of these folders below that of its topic."""
    wanted = tuple(f"{folder.strip('/')}/" for folder in folders)
    return replace(selected, objects=[one for one in selected.objects if f"{one.path}/".startswith(wanted)])
