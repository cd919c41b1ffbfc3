"""What `verify` says of the partitions of a Hive table."""

from collections.abc import Callable, Sequence

from logpersister.tables.hive.folders import partition_of
from logpersister.verify.findings import Finding, Kind
from logpersister.verify.tables import RegisteredPartitions, partition_findings
from tests.unit.verify.test_tables import stored

FOLDERS = {f"dt={day}": stored(day, day + 1, path=f"dt={day}") for day in range(4)}


def found(values: Sequence[str], noted: Sequence[str] = (), is_due: Callable[[str], bool] = bool) -> list[Finding]:
    folders = {partition: one for path, one in FOLDERS.items() if (partition := partition_of(path, ["dt="]))}
    registered = RegisteredPartitions("lake.clicks", {(value,) for value in values}, noted)
    return list(partition_findings("clicks", folders, registered, is_due=is_due))


def test_a_folder_that_is_no_partition_is_found_with_one_of_its_objects() -> None:
    one, other = found("01", noted=["dt=3"])
    assert (one.kind, one.key, one.start, one.is_problem) == (Kind.NOT_REGISTERED, "clicks/dt=2/2", 2, False)
    assert one.message == "folder dt=2 is no partition of table lake.clicks"
    assert other.message.endswith("; it is noted, and will be one")
    assert found("01", is_due=lambda path: path == "dt=0") == [], "the others are not finished"


def test_a_partition_without_objects_is_found() -> None:
    [one] = found("01234")
    assert (one.kind, one.is_problem) == (Kind.WITHOUT_OBJECTS, False)
    assert one.message == "partition (4) of table lake.clicks has no objects"
