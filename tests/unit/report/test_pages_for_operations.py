"""The pages on commands, monitoring and operations say what the code does: reasons, kinds, fields, exit codes."""

import re
from pathlib import Path
from typing import get_args

from logpersister.cli.exits import Exit
from logpersister.plan.holds import HoldReason
from logpersister.report.document import status_document
from logpersister.report.shadow import ShadowReport
from logpersister.report.status import MemberState, StatusBoard
from logpersister.storage.errors import StorageErrorKind
from tests.unit.report.samples import IDENTITY, NOON

DOCS = Path(__file__).parents[3] / "docs"


def section(page: str, title: str) -> str:
    """Return the section of a page with this heading, up to the next heading of the same or a higher level."""
    text = (DOCS / f"{page}.md").read_text()
    heading = re.search(rf"^(#+) {re.escape(title)}$", text, re.MULTILINE)
    assert heading is not None, title
    rest = text[heading.end() :]
    following = re.search(rf"^#{{1,{len(heading.group(1))}}} ", rest, re.MULTILINE)
    return rest[: following.start()] if following else rest


def first_cells(text: str) -> set[str]:
    """Return the words in code marks of the first column of the tables."""
    return {
        word for row in re.findall(r"^\| (`[^|]*) \|", text, re.MULTILINE) for word in re.findall(r"`([^`]+)`", row)
    }


def test_every_reason_to_hold_a_partition_has_a_remedy() -> None:
    assert first_cells(section("operations", "A partition is held")) == {str(reason) for reason in HoldReason}


def test_every_kind_of_upload_failure_has_a_remedy() -> None:
    assert first_cells(section("operations", "Uploads fail")) == set(get_args(StorageErrorKind))


def test_every_field_of_the_status_is_described() -> None:
    document = status_document(StatusBoard(IDENTITY).snapshot())
    described = section("monitoring", "The status document")
    assert first_cells(described) == set(document)
    for group in ("uploads", "quarantine", "progress", "errors", "heldPartitions", "dataLoss", "rebalance"):
        for name in document[group]:
            assert f"`{name}`" in described, f"{group}.{name}"


def test_every_field_of_a_comparison_is_described() -> None:
    board = StatusBoard(IDENTITY)
    board.shadow(ShadowReport(NOON))
    document = status_document(board.snapshot())["shadow"]
    described = section("commands", "Shadow mode")
    assert first_cells(described) == set(document)
    for group in ("records", "checksums"):
        for name in document[group]:
            assert f"`{name}`" in described, f"{group}.{name}"


def test_every_state_is_described() -> None:
    for state in MemberState:
        assert f"`{state}`" in section("monitoring", "The status document")


def test_every_exit_code_is_described() -> None:
    codes = {int(code) for code in re.findall(r"^\| (\d+) \|", section("commands", "Exit codes"), re.MULTILINE)}
    assert codes == {int(code) for code in Exit}
