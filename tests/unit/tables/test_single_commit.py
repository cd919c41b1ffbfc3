"""What is private in pyiceberg and used here: this test is to fail when another version has it otherwise."""

import inspect
from importlib.metadata import version

from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table.update.snapshot import _SnapshotProducer


def test_the_version_is_the_one_that_was_read() -> None:
    assert version("pyiceberg") == "0.12.0"


def test_a_snapshot_s_updates_come_from_a_method_without_arguments_that_commits_nothing() -> None:
    assert list(inspect.signature(_SnapshotProducer._commit).parameters) == ["self"]
    source = inspect.getsource(_SnapshotProducer._commit)
    assert "AssertRefSnapshotId" in source
    assert "commit_table" not in source
    assert "commit_transaction" not in source


def test_a_catalog_commits_once() -> None:
    for catalog in (RestCatalog, SqlCatalog):
        source = inspect.getsource(catalog.commit_table)
        assert "while" not in source, "no loop that tries again"
        assert "_rebase" not in source


def test_requests_of_a_rest_catalog_go_through_one_session() -> None:
    assert "self._session = " in inspect.getsource(RestCatalog.__init__)
