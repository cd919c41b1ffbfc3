"""What may become of a resource that is there already."""

from typing import Any

import pytest

from tests.unit.manifest.documents import accepted

CHANGES_ALLOWED: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({}, {}),
    ({}, {"spec.generation": 2}),
    ({}, {"spec.kafka.groupId": "clicks-backup"}),
    ({"spec.kafka.groupId": "clicks-backup"}, {}),
    ({"spec.kafka.groupId": "other"}, {"spec.kafka.groupId": "other", "spec.storage.prefix": "elsewhere"}),
]
"""Before and after, as changes of the smallest manifest."""

CHANGES_REFUSED: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    (
        {"spec.generation": 2},
        {"spec.generation": 1},
        "spec.generation: 1 is lower than before, and objects of the higher generation are there already; set the",
    ),
    ({"spec.generation": 2}, {}, "spec.generation: 1 is lower than before"),
    (
        {},
        {"spec.kafka.groupId": "other"},
        'spec.kafka.groupId: "other" cannot be changed: another group begins anew, and would store everything twice',
    ),
    ({"spec.kafka.groupId": "other"}, {"spec.kafka.groupId": "clicks-backup"}, "cannot be changed"),
]


@pytest.mark.parametrize(("before", "after"), CHANGES_ALLOWED, ids=str)
def test_allowed(before: dict[str, Any], after: dict[str, Any]) -> None:
    assert accepted(after).problems_of_change(accepted(before)) == []


@pytest.mark.parametrize(("before", "after", "expected"), CHANGES_REFUSED, ids=str)
def test_refused(before: dict[str, Any], after: dict[str, Any], expected: str) -> None:
    found = accepted(after).problems_of_change(accepted(before))
    assert len(found) == 1
    assert expected in str(found[0])
