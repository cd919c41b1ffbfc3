"""docs/commands.md says what every finding means."""

from logpersister.verify.findings import Kind
from tests.unit.report.test_pages_for_operations import first_cells, section


def test_every_finding_has_a_meaning() -> None:
    assert first_cells(section("commands", "Verify")) == {str(kind) for kind in Kind}
