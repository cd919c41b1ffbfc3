"""By which numbers a table knows columns: the catalog is asked once, then the bucket, and the topic waits meanwhile."""

import threading
from typing import Any

import pytest
from structlog.testing import capture_logs

from logpersister.manifest.revisions.revision import revision_of
from logpersister.manifest.revisions.table_binding import TableBinding, table_of, with_table
from logpersister.storage.errors import StorageError
from logpersister.storage.receipts import NO_TYPE
from logpersister.tables.bindings import Bindings
from logpersister.tables.columns import TableColumns, columns_by_type
from logpersister.tables.errors import TableError
from tests.unit.tables.samples import FIELDS, Documents, manifest

BINDING = TableBinding("lake.clicks", "uuid", 1, 0, ("dt",), {"id": 1, "kafka_offset": 2})
REVISION = revision_of(manifest(), "1.0")


class World(Documents):
    """A bucket, a catalog and a clock."""

    def __init__(self) -> None:
        super().__init__()
        self.error: Exception | None = None
        self.opened = self.time = 0
        self.answers = threading.Event()
        self.answers.set()
        self.bindings = self.member()
        self.name = "lake.clicks"

    def member(self) -> Bindings[TableColumns]:
        store: Any = self
        return Bindings(
            store, "group", lambda *_: "lake.clicks", lambda *_: self, columns_by_type, clock=lambda: self.time
        )

    def ensure(self, columns: TableColumns) -> TableBinding:
        assert columns.folders == ("dt",)
        assert self.answers.wait(30)
        self.opened += 1
        if self.error is not None:
            raise self.error
        return BINDING

    def asked(
        self, bindings: Bindings[TableColumns] | None = None, revision: Any = REVISION, topic: str = "clicks"
    ) -> TableBinding | None:
        """Ask, and ask again when bucket and catalog have answered."""
        bindings = bindings or self.bindings
        for _ in ("bucket", "catalog"):
            bindings.bound(topic, revision)
            answered(bindings, topic)
        bound = bindings.bound(topic, revision)
        return None if bound is None else table_of(bound.document)


def answered(bindings: Bindings[TableColumns], topic: str) -> None:
    """Wait for what was asked about a topic."""
    for table in bindings._topics[topic].tables.values():
        if table.answer is not None:
            table.answer.exception()


def test_the_catalog_is_asked_once_for_all_members_and_revisions() -> None:
    world = World()
    assert world.bindings.bound("clicks", REVISION) is None, "nobody waits for an answer"
    assert world.asked() == BINDING
    assert world.asked(world.member()) == BINDING
    other = revision_of(manifest(), "2.0")
    assert (world.asked(revision=other), world.opened) == (BINDING, 1)
    assert [key.rpartition("/")[0] for key in world.documents] == ["_logpersister/group/tables/clicks"]


def test_a_topic_whose_table_is_somebody_elses_is_stored_without_one_until_it_gets_one() -> None:
    """Nothing of it can be in that table, so the topic need not wait; its own table makes it wait for columns."""
    world = World()
    world.error = TableError("schema", "no")
    assert (world.asked(), world.bindings.bound("clicks", REVISION), world.bindings.refused) == (None, None, {"clicks"})
    world.error, world.time = TableError("other-owner", "it is that of orders-eu"), world.time + 100
    with capture_logs() as logs:
        assert world.asked() is None
    assert [one["event"] for one in logs] == ["table.refused"]
    assert world.bindings.bound("clicks", REVISION) == REVISION
    assert world.bindings.refused == set()
    assert world.bindings.without_table("clicks") == {NO_TYPE: "it is that of orders-eu"}
    world.error, world.time = None, world.time + 100
    assert world.asked() == BINDING
    assert world.bindings.bound("clicks", REVISION) == with_table(REVISION.document, BINDING)
    assert world.bindings.without_table("clicks") == {}


def test_other_columns_are_asked_for_anew() -> None:
    world = World()
    world.asked()
    world.asked(revision=revision_of(manifest([*FIELDS, {"name": "new", "type": "bool"}]), "1.0"))
    assert (world.opened, len(world.documents)) == (2, 2)


def test_topics_of_one_revision_have_tables_of_their_own() -> None:
    world = World()
    world.asked()
    assert (world.asked(topic="orders"), world.opened, len(world.documents)) == (BINDING, 2, 2)


def test_a_catalog_that_stands_still_delays_no_topic_whose_note_is_there() -> None:
    world = World()
    world.asked()
    member = world.member()
    world.answers.clear()
    assert member.bound("orders", REVISION) is None
    answered(member, "orders")
    assert member.bound("orders", REVISION) is None, "asks the catalog, and waits"
    assert all(one.daemon for one in threading.enumerate() if one.name == "table-columns"), "no process waits for it"
    assert world.asked(member) == BINDING
    world.answers.set()
    answered(member, "orders")


def test_the_first_note_counts() -> None:
    world = World()
    world.asked()
    [key] = world.documents
    first = TableBinding("lake.clicks", "before", 0, 0, ("dt",), {"id": 7})
    documents, world.documents = {key: first.document()}, {}
    world.error = None
    put = world.put_json
    world.put_json = lambda *arguments, **options: (world.documents.update(documents), put(*arguments, **options))[1]  # type: ignore[method-assign]
    assert world.asked(world.member()) == first


@pytest.mark.parametrize(
    ("error", "refused"), [(TableError("unavailable", "away"), set()), (TableError("schema", "no"), {"clicks"})]
)
def test_what_fails_is_told_and_asked_again_later(error: TableError, refused: set[str]) -> None:
    world = World()
    world.error = error
    assert world.asked() is None
    assert (world.bindings.take_errors(), world.bindings.refused) == ({"clicks": error}, refused)
    assert (world.asked(), world.opened, world.bindings.take_errors()) == (None, 1, {})
    world.time, world.error = 10, None
    assert (world.asked(), world.bindings.refused) == (BINDING, set())


def test_another_schema_is_not_refused_for_the_one_before() -> None:
    world = World()
    world.error = TableError("schema", "no")
    assert (world.asked(), world.bindings.refused) == (None, {"clicks"})
    world.error = None
    other = revision_of(manifest([*FIELDS, {"name": "new", "type": "bool"}]), "1.0")
    assert world.bindings.bound("clicks", other) is None
    assert world.bindings.refused == set(), "it is being asked for"
    assert (world.asked(revision=other), world.bindings.refused) == (BINDING, set())


def test_a_damaged_note_is_no_note() -> None:
    world = World()
    world.asked()
    [key] = world.documents
    world.documents[key] = {"table": "x"}
    again = world.member()
    assert world.asked(again) is None
    [error] = again.take_errors().values()
    assert isinstance(error, StorageError)
    assert "is no note of a table" in str(error)


def test_a_revision_has_the_binding_in_it() -> None:
    bound = with_table(REVISION.document, BINDING)
    assert bound.hash != REVISION.hash
    assert table_of(bound.document) == BINDING
    assert table_of(REVISION.document) is None
