"""Which partition a folder is: for each value that a record can have, the one that engines read from its name."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logpersister.records.escaping import QUARANTINE
from logpersister.records.field_paths import NULL, name_of
from logpersister.tables.hive.folders import Partition, partition_of

PREFIXES = ("dt=", "country=")


@settings(max_examples=50)
@given(st.text(min_size=1))
def test_a_partition_has_the_value_of_the_record(text: str) -> None:
    name = name_of(text)
    found = partition_of(f"dt=2026-11-21/country={name}", PREFIXES)
    assert found is not None
    cut = "~" in name  # a long one, which ends with a digest of the whole
    assert found.values[1].partition("~")[0] in text if cut else found.values == ("2026-11-21", text)


def test_null_is_another_partition_than_the_text_that_hive_has_for_it() -> None:
    found = [partition_of(f"dt=unknown/country={name_of(value)}", PREFIXES) for value in (None, "", NULL)]
    assert found == [
        Partition(("unknown", NULL), f"dt=unknown/country={NULL}"),
        Partition(("unknown", NULL), f"dt=unknown/country={NULL}"),
        Partition(("unknown", "%5F" + NULL[1:]), f"dt=unknown/country=%5F{NULL[1:]}"),
    ]


@pytest.mark.parametrize("path", [QUARANTINE, "", "dt=2026-11-21", "a=1/dt=2", "dt=1/country=", "dt=1/country=a/c=1"])
def test_folders_of_other_levels_are_no_partitions(path: str) -> None:
    assert partition_of(path, PREFIXES) is None
