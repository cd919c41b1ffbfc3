"""Compacts the table of a run for as long as it lives, by pyiceberg: ``python -m tests.chaos.compaction SETTINGS``.

Files of one partition become one file in a snapshot that requires the one it was made from. Each attempt is one line.
"""

import json
import random
import sys
import time
from collections import defaultdict
from typing import Any

from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.exceptions import CommitFailedException, NoSuchTableError
from pyiceberg.expressions import AlwaysTrue
from pyiceberg.io.pyarrow import ArrowScan, _dataframe_to_data_files
from pyiceberg.table import FileScanTask, Table

_PAUSE = (1.0, 6.0)
_MOST_FILES = 12
_LEAST_FILES = 2


def catalog_of(settings: dict[str, Any]) -> Catalog:
    """Open the catalog that the settings name (`tests.chaos.compactor`)."""
    properties = {
        "s3.endpoint": settings["endpoint"],
        "s3.access-key-id": settings["access"],
        "s3.secret-access-key": settings["secret"],
        "s3.region": settings["region"],
    }
    return load_catalog("chaos", type="rest", uri=settings["uri"], **properties)


def compact(catalog: Catalog, table: Table, chance: random.Random) -> str:
    """Make one file of several of a partition; return what came of it."""
    partitions: defaultdict[str, list[FileScanTask]] = defaultdict(list)
    for task in table.scan().plan_files():
        partitions[str(task.file.partition)].append(task)
    many = [tasks for tasks in partitions.values() if len(tasks) >= _LEAST_FILES]
    if not many:
        return "nothing to do"
    tasks = chance.choice(many)[:_MOST_FILES]
    rows = ArrowScan(table.metadata, table.io, table.schema(), AlwaysTrue()).to_table(tasks)
    overwrite = table.transaction().update_snapshot().overwrite()
    for task in tasks:
        overwrite.delete_data_file(task.file)
    for file in _dataframe_to_data_files(table.metadata, rows, table.io):
        overwrite.append_data_file(file)
    updates, requirements = overwrite._commit()  # one attempt: a lost answer must not repeat it
    catalog.commit_table(table, requirements, updates)
    return "committed"


def main() -> None:
    """Go on until killed."""
    settings = json.loads(sys.argv[1])
    chance = random.Random(f"compaction {settings['seed']} {time.time_ns()}")
    catalog: Catalog | None = None
    while True:
        time.sleep(chance.uniform(*_PAUSE))
        try:
            catalog = catalog or catalog_of(settings)
            table = catalog.load_table((settings["namespace"], chance.choice(settings["tables"])))
            came = compact(catalog, table, chance)
        except NoSuchTableError:
            came = "no table yet"
        except CommitFailedException:
            came = "conflict"
        except Exception as error:  # noqa: BLE001 - servers are killed meanwhile: it goes on
            came = f"failed: {type(error).__name__}"
        sys.stdout.write(json.dumps({"came": came}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
