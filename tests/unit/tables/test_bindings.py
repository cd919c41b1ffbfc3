"""By which numbers tables know columns: catalogs are asked once, then the bucket, and the topic waits meanwhile.

Of a topic with types, one whose table does not take its columns holds up no other.
"""

import threading
from dataclasses import dataclass

import pytest
from structlog.testing import capture_logs

from logpersister.manifest.revisions.revision import Revision, resource_of, revision_of
from logpersister.manifest.revisions.table_binding import TableBinding, table_of, tables_of, with_table
from logpersister.storage.errors import StorageError
from logpersister.storage.receipts import NO_TYPE
from logpersister.tables.bindings import Bindings
from logpersister.tables.columns import TableColumns, columns_by_type
from logpersister.tables.errors import TableError
from tests.unit.tables.samples import Documents, manifest, manifest_of_types

REVISION = revision_of(manifest(), "1.0")
OF_TYPES = revision_of(manifest_of_types({"names": ["order", "refund"]}, {"pattern": "^x", "folder": "y"}), "1.0")
TYPES = ("order", "refund", "y")


def binding_of(type_: str = NO_TYPE) -> TableBinding:
    return TableBinding(f"lake.clicks_{type_}", f"uuid of {type_}", 1, 0, ("dt",), {"id": 1, "kafka_offset": 2})


BINDING = binding_of()


@dataclass(frozen=True)
class Opened:
    """The table of a type in the catalog."""

    world: "World"
    type: str

    @property
    def name(self) -> str:
        return f"lake.clicks_{self.type}"

    def ensure(self, columns: TableColumns) -> TableBinding:
        assert columns.folders == ("dt",)
        assert self.world.answers.wait(30)
        self.world.opened.append(self.type)
        if self.type in self.world.errors:
            raise self.world.errors[self.type]
        return binding_of(self.type)


class World(Documents):
    """A bucket, a catalog and a clock."""

    def __init__(self, revision: Revision = REVISION) -> None:
        super().__init__()
        self.revision = revision
        self.errors: dict[str, Exception] = {}
        """By type, of their tables."""
        self.opened: list[str] = []
        self.time = 0.0
        self.answers = threading.Event()
        self.answers.set()
        self.bindings = self.member()

    def member(self) -> Bindings[TableColumns]:
        return Bindings(
            self,  # type: ignore[arg-type]
            "group",
            lambda topic, number, type_: f"lake.{topic}_{number}_{type_}",
            lambda topic, number, type_: Opened(self, type_),
            columns_by_type,
            clock=lambda: self.time,
        )

    def bound(
        self, bindings: Bindings[TableColumns] | None = None, revision: Revision | None = None, topic: str = "clicks"
    ) -> Revision | None:
        """Ask, and ask again when bucket and catalog have answered."""
        bindings, revision = bindings or self.bindings, revision or self.revision
        for _ in ("bucket", "catalog"):
            bindings.bound(topic, revision)
            answered(bindings, topic)
        return bindings.bound(topic, revision)

    def asked(
        self, bindings: Bindings[TableColumns] | None = None, revision: Revision | None = None, topic: str = "clicks"
    ) -> TableBinding | None:
        """Return how the table of a topic without types is bound."""
        found = self.bound(bindings, revision, topic)
        return None if found is None else table_of(found.document)

    def types(
        self, bindings: Bindings[TableColumns] | None = None, revision: Revision | None = None
    ) -> set[str] | None:
        """Return the types that have tables."""
        found = self.bound(bindings, revision)
        return None if found is None else set(tables_of(found.document))


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
    assert (world.asked(revision=other), len(world.opened)) == (BINDING, 1)
    assert [key.rpartition("/")[0] for key in world.documents] == ["_logpersister/group/tables/clicks"]


def test_a_topic_whose_table_is_somebody_elses_is_stored_without_one_until_it_gets_one() -> None:
    """Nothing of it can be in that table, so the topic need not wait; its own table makes it wait for columns."""
    world = World()
    world.errors[NO_TYPE] = TableError("schema", "no")
    assert (world.asked(), world.bindings.bound("clicks", REVISION), world.bindings.refused) == (None, None, {"clicks"})
    world.errors[NO_TYPE], world.time = TableError("other-owner", "it is that of orders-eu"), world.time + 100
    with capture_logs() as logs:
        assert world.asked() is None
    assert [one["event"] for one in logs] == ["table.refused"]
    assert world.bindings.bound("clicks", REVISION) == REVISION
    assert world.bindings.refused == set()
    assert world.bindings.without_table("clicks") == {NO_TYPE: "it is that of orders-eu"}
    world.errors.clear()
    world.time += 100
    assert world.asked() == BINDING
    assert world.bindings.bound("clicks", REVISION) == with_table(REVISION.document, BINDING)
    assert world.bindings.without_table("clicks") == {}


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
    world.errors.clear()
    put = world.put_json
    world.put_json = lambda *arguments, **options: (world.documents.update(documents), put(*arguments, **options))[1]  # type: ignore[method-assign]
    assert world.asked(world.member()) == first


@pytest.mark.parametrize(
    ("error", "refused"), [(TableError("unavailable", "away"), set()), (TableError("schema", "no"), {"clicks"})]
)
def test_what_fails_is_told_and_asked_again_later(error: TableError, refused: set[str]) -> None:
    world = World()
    world.errors[NO_TYPE] = error
    assert world.asked() is None
    assert (world.bindings.take_errors(), world.bindings.refused) == ({"clicks": error}, refused)
    assert (world.asked(), len(world.opened), world.bindings.take_errors()) == (None, 1, {})
    world.errors.clear()
    world.time = 10
    assert (world.asked(), world.bindings.refused) == (BINDING, set())


def test_a_damaged_note_is_no_note() -> None:
    world = World()
    world.asked()
    [key] = world.documents
    world.documents[key] = {"table": "x"}
    again = world.member()
    assert world.asked(again) is None
    [error] = again.take_errors().values()
    assert isinstance(error, StorageError)
    assert "is not the note of a table" in str(error)


# tables of types


def test_all_types_are_bound_and_noted_for_other_members() -> None:
    world = World(OF_TYPES)
    assert world.bindings.bound("clicks", OF_TYPES) is None, "nobody waits for an answer"
    assert world.types() == {*TYPES}
    assert sorted(world.opened) == ["order", "refund", "y"]
    assert world.types(world.member()) == {*TYPES}
    assert len(world.opened) == 3
    assert len(world.documents) == 3
    found = world.bindings.bound("clicks", OF_TYPES)
    assert found is not None
    assert tables_of(found.document)["order"].uuid == "uuid of order"
    assert resource_of(found.document).spec.types is not None, "whoever takes over can read it"


def test_a_type_whose_table_does_not_take_its_columns_is_stored_without_it_until_that_is_mended() -> None:
    world = World(OF_TYPES)
    world.errors["refund"] = TableError("schema", "table lake.clicks_refund cannot take the columns")
    assert world.types() == {"order", "y"}
    assert world.bindings.take_errors() == {}, "the topic does not wait"
    [(type_, told)] = world.bindings.without_table("clicks").items()
    assert (type_, "type refund is stored without its table: table lake.clicks_refund cannot" in told) == (
        "refund",
        True,
    )
    world.time += 100
    world.errors["refund"] = TableError("unavailable", "away")
    assert world.types() == {"order", "y"}, "what was refused waits for no catalog"
    world.errors.clear()
    world.time += 100
    assert world.types() == {*TYPES}
    assert world.bindings.without_table("clicks") == {}


def test_a_catalog_that_is_away_lets_the_topic_wait() -> None:
    world = World(OF_TYPES)
    away = TableError("unavailable", "ConnectTimeout")
    world.errors = dict.fromkeys(TYPES, away)
    for _ in range(30):
        assert world.types() is None
        world.time += 100
    assert world.bindings.take_errors() == {"clicks": away}
    world.errors.clear()
    assert world.types() == {*TYPES}


def test_one_table_that_does_not_answer_is_left_out_once_another_one_does() -> None:
    world = World(OF_TYPES)
    away = TableError("unavailable", "HTTP 500")
    world.errors["y"] = away
    assert world.types() is None
    world.errors = dict.fromkeys(TYPES, away)
    for _ in range(20):
        world.time += 100
        assert world.types() is None, "the catalog is away"
    del world.errors["order"]
    world.time += 100
    assert world.types() == {"order", "refund"}
    [told] = world.bindings.without_table("clicks").values()
    assert told == "type y is stored without its table: HTTP 500 (and the catalog answers for others)"
    world.errors.clear()
    world.time += 100
    assert world.types() == {*TYPES}
