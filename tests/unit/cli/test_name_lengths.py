"""Whether folders by long values could make names that S3 refuses."""

from typing import Any

import pytest

from logpersister.cli.check.finding import Finding
from logpersister.cli.check.spec import may_be_too_long, names_findings
from tests.unit.manifest.documents import accepted

TEXT = {"spec.value": {"json": {"fields": [{"name": "s", "type": "string"}]}}}
LONG = "t" * 249
LEVELS = [{kind: "s", "prefix": f"{kind}="} for kind in ("field", "lower")]
WIDE = {"truncate": {"field": "s", "width": 10}}
NARROW = {"truncate": {"field": "s", "width": 1}}
BUCKET = {"bucket": {"field": "s", "count": 16}}


DEEP = {"spec.storage": {"bucket": "logs", "prefix": "p" * 300}}


@pytest.mark.parametrize(
    ("changes", "topic", "too_long"),
    [
        ({}, LONG, False),
        (DEEP, LONG, False),
        ({"spec.output": {"partitionBy": [*LEVELS, WIDE]}}, LONG, False),
        (DEEP | {"spec.output": {"partitionBy": [*LEVELS, WIDE]}}, "clicks", False),
        (DEEP | {"spec.output": {"partitionBy": [*LEVELS, WIDE]}}, LONG, True),
        (DEEP | {"spec.output": {"partitionBy": [*LEVELS[1:], NARROW, BUCKET]}}, LONG, False),
        (DEEP | {"spec.output": {"partitionBy": LEVELS}, "spec.kafka.groupId": "g" * 30}, LONG, False),
        (DEEP | {"spec.output": {"partitionBy": LEVELS}, "spec.kafka.groupId": "g" * 200}, LONG, True),
    ],
)
def test_what_may_be_too_long(changes: dict[str, Any], topic: str, too_long: bool) -> None:
    assert may_be_too_long(accepted(TEXT | changes), topic) is too_long


def test_check_warns_of_topics() -> None:
    resource = accepted({**TEXT, **DEEP, "spec.output": {"partitionBy": [*LEVELS, WIDE]}})
    assert list(names_findings(resource, ["clicks"])) == []
    (finding,) = names_findings(resource, [LONG, "clicks"])
    assert isinstance(finding, Finding)
    assert finding.verdict == "warning"
    assert f"{LONG}: long values for folders can make names of more than the 1,024 bytes" in finding.message
