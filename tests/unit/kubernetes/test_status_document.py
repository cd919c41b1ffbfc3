"""docs/status.md tells every condition and every reason, and none that does not exist."""

import re
from pathlib import Path
from typing import get_args

from logpersister.storage.errors import StorageErrorKind
from logpersister_operator.decide.conditions import Aspect
from logpersister_operator.decide.reasons import Reason, upload_reason

DOCUMENT = (Path(__file__).parents[3] / "docs" / "status.md").read_text()


def first_cells(heading: str) -> set[str]:
    section = DOCUMENT.split(f"## {heading}\n")[1].split("\n## ")[0]
    cells = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \|", section, re.MULTILINE)
    return set(re.findall(r"\w+", " ".join(cells)))


def test_conditions() -> None:
    assert first_cells("Conditions") == {aspect.value for aspect in Aspect}


def test_reasons() -> None:
    assert first_cells("Reasons") == {reason.value for reason in Reason}


def test_reasons_of_failing_uploads() -> None:
    sentence = DOCUMENT.split("are the kinds of the storage's errors: ")[1].split(". ")[0]
    assert set(re.findall(r"`(\w+)`", sentence)) == {upload_reason(kind) for kind in get_args(StorageErrorKind)}
