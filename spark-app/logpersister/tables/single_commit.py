"""One attempt at a snapshot: it follows the one that was looked at, or nothing happens.

pyiceberg's own ways to append (``Table.append``, ``add_files``, a ``Transaction`` that is committed) rebase a snapshot
onto whatever is there meanwhile and try again, up to four times. So an appender that stood still would succeed after
another one had appended the same files. What is safe is a single ``commit_table`` whose requirement names the snapshot
before. pyiceberg makes updates and requirements of a snapshot only in a private method, so that is called here and
nowhere else, and tests/unit/tables/test_single_commit.py notices when it changes.
"""

from collections.abc import Callable, Sequence

from pyiceberg.catalog import Catalog
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.table.update import AddSnapshotUpdate, AssertRefSnapshotId, AssertTableUUID, SetPropertiesUpdate


def commit_once(
    catalog: Catalog,
    table: Table,
    files: Sequence[DataFile],
    summary: dict[str, str],
    properties: Callable[[Snapshot], dict[str, str]],
    removed: Sequence[DataFile] = (),
) -> Snapshot:
    """Append files, and take others out, in one snapshot behind the current one of `table`; return it.

    Whatever is raised, the caller begins again by loading the table: a commit that failed may have succeeded.

    Args:
        table: as it was loaded; it must not have been refreshed since something was concluded from it.
        removed: files of the current snapshot.
    """
    metadata = table.metadata
    update = table.transaction().update_snapshot(snapshot_properties=summary)
    change = update.overwrite() if removed else update.fast_append()
    for file in removed:
        change.delete_data_file(file)
    for file in files:
        change.append_data_file(file)
    updates, requirements = change._commit()  # noqa: SLF001 - see above
    head = metadata.snapshot_by_name(MAIN_BRANCH)
    follows = AssertRefSnapshotId(ref=MAIN_BRANCH, snapshot_id=None if head is None else head.snapshot_id)
    if follows not in requirements:  # without it the commit would succeed after any other
        raise RuntimeError(f"pyiceberg requires {requirements} of the table, and not {follows}")
    snapshot = next(update.snapshot for update in updates if isinstance(update, AddSnapshotUpdate))
    catalog.commit_table(
        table,
        (AssertTableUUID(uuid=metadata.table_uuid), *requirements),
        (*updates, SetPropertiesUpdate(updates=properties(snapshot))),
    )
    return snapshot
