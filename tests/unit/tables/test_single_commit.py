"""What is private in pyiceberg and used here: this test is to fail when another version has it otherwise."""

import inspect
from importlib.metadata import version

from pyiceberg.catalog.glue import GlueCatalog
from pyiceberg.catalog.hive import HiveCatalog
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
    for catalog in (RestCatalog, SqlCatalog, GlueCatalog, HiveCatalog):
        source = inspect.getsource(catalog.commit_table)
        assert "while" not in source, "no loop that tries again"
        assert "_rebase" not in source


def test_the_client_of_a_metastore_is_made_in_one_place_and_opened_for_each_use() -> None:
    """There it has deadlines, and a connection for each thread (`tables.metastore_catalogs`)."""
    assert "self._client = self._create_hive_client(properties)" in inspect.getsource(HiveCatalog.__init__)
    uses = inspect.getsource(HiveCatalog).replace("self._client = self._create_hive_client(properties)", "")
    assert uses.count("self._client") == uses.count("with self._client as open_client")


def test_each_session_of_a_rest_catalog_is_given_its_login_before_its_first_request() -> None:
    """There it is given deadlines, too."""
    assert "self._session = self._create_session()" in inspect.getsource(RestCatalog.__init__)
    assert "with self._create_session() as session" in inspect.getsource(RestCatalog._fetch_config)
    assert "_create_legacy_oauth2_auth_manager(session)" in inspect.getsource(RestCatalog._create_session)
