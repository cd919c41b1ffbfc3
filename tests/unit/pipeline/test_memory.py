"""That a task stays within the memory that docs/sizing.md promises, whatever it stores."""

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final

import pyarrow as pa
import pytest

from bench.events import event, nested_event
from bench.folders import spec_of as folders_spec
from logpersister.records.schema import RECORDS
from tests.unit.pipeline.ranges_in_a_process import Taken

MIB: Final = 1 << 20
SIZING: Final = Path(__file__).parents[3] / "docs" / "sizing.md"
PARTS: Final = 13
"""Of an upload, which a task buffers (docs/sizing.md, "Memory", as the next ones)."""
SORTING: Final = 70 * MIB
"""What sorting takes beside them."""
ONE_FOLDER: Final = 130 * MIB
"""What a task takes of both where ranges have one folder."""
PART_SIZE: Final = 16 * MIB
"""By default."""
LEAST_PART_SIZE: Final = 5 * MIB
"""That a manifest may have: then less data exceeds the budget, if nothing keeps it."""
MARGIN: Final = 8 * MIB
"""By which peaks of equal ranges differ in the middle: allocators keep more or less."""
BATCH_BYTES: Final = 1_000_000


def budget(part_size: int) -> int:
    """Return by how many bytes a process may grow while it writes ranges."""
    return PARTS * part_size + SORTING


def spec_of(folders: int = 1, part_size: int = PART_SIZE) -> Mapping[str, Any]:
    return folders_spec(folders, partSize=part_size)


def most(taken: Iterable[Taken]) -> int:
    return max(one.growth for one in taken)


class Events:
    """Records for ranges that are written in a process of their own."""

    def __init__(self, directory: Path, make: Callable[[random.Random, int], str], size: int, megabytes: int) -> None:
        """Make so many different events of a size."""
        self._directory, self._size = directory, size
        self._records = directory / "records.arrow"
        chance, rows = random.Random(size), max(BATCH_BYTES // size, 1)
        with pa.OSFile(str(self._records), "wb") as file, pa.ipc.new_file(file, RECORDS) as written:
            for _ in range(megabytes * 1_000_000 // size // rows):
                values = [make(chance, size).encode() for _ in range(rows)]
                times, keys = [1_795_237_200_000] * rows, pa.nulls(rows, pa.binary())
                written.write(pa.record_batch([pa.array(range(rows)), times, keys, values], schema=RECORDS))

    def write(self, spec: Mapping[str, Any], megabytes: int, ranges: int = 1) -> Sequence[Taken]:
        """Write ranges of so many MB; return what each has taken."""
        file = self._directory / "spec.json"
        file.write_text(json.dumps(spec))
        command = ["-m", "tests.unit.pipeline.ranges_in_a_process", file, self._records, ranges]
        command.append(megabytes * 1_000_000 // self._size)
        # Counting lines takes memory, too.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
        done = subprocess.check_output([sys.executable, *map(str, command)], env=environment)
        return [Taken(**one) for one in json.loads(done)]


def test_the_budget_is_the_documented_one() -> None:
    text = " ".join(SIZING.read_text().split()).replace("\N{MULTIPLICATION SIGN}", "x")
    assert f"up to {PARTS} x `storage.partSize`, {PARTS * PART_SIZE // MIB} MiB by default" in text
    assert f"takes up to {SORTING // MIB} MiB more" in text
    assert f"With one folder it is at most {ONE_FOLDER // MIB} MiB" in text


@pytest.mark.slow
def test_many_folders_stay_within_the_budget(tmp_path: Path) -> None:
    taken = Events(tmp_path, event, 400, 12).write(spec_of(2000, LEAST_PART_SIZE), 60, ranges=2)
    assert {one.objects for one in taken} == {2000}
    assert min(one.passes for one in taken) > 1, "all of a range would fit"
    assert most(taken) <= budget(LEAST_PART_SIZE)


@pytest.mark.soak
def test_ten_thousand_folders_stay_within_the_budget(tmp_path: Path) -> None:
    taken = Events(tmp_path, event, 400, 64).write(spec_of(10_000), 192, ranges=2)
    assert {one.objects for one in taken} == {10_000}
    assert min(one.passes for one in taken) > 1, "all of a range would fit"
    assert most(taken) <= budget(PART_SIZE)


@pytest.mark.soak
@pytest.mark.parametrize(("folders", "most_bytes"), [(1, ONE_FOLDER), (50, budget(PART_SIZE))])
def test_nested_rows_of_a_megabyte_stay_within_the_budget(tmp_path: Path, folders: int, most_bytes: int) -> None:
    taken = Events(tmp_path, nested_event, 1_000_000, 24).write(spec_of(folders), 256, ranges=3)
    assert most(taken) <= most_bytes


@pytest.mark.soak
def test_objects_of_256_mib_stay_within_the_budget(tmp_path: Path) -> None:
    taken = Events(tmp_path, event, 1000, 128).write(spec_of(), 1250, ranges=2)
    assert min(one.largest for one in taken) >= 256 * MIB
    assert most(taken) <= ONE_FOLDER


@pytest.mark.soak
def test_memory_is_the_same_after_a_hundred_ranges(tmp_path: Path) -> None:
    taken = Events(tmp_path, event, 400, 12).write(spec_of(2000, LEAST_PART_SIZE), 12, ranges=100)
    first, last = (median(one.growth for one in some) for some in (taken[5:15], taken[-10:]))
    assert last - first <= MARGIN
