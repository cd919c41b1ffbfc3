"""By which numbers tables of types know columns: a type whose table does not take them holds up no other."""

from typing import Any

from logpersister.manifest.revisions.revision import Revision, resource_of, revision_of
from logpersister.manifest.revisions.table_binding import TableBinding, tables_of
from logpersister.tables.bindings import Bindings
from logpersister.tables.columns import TableColumns, columns_by_type
from logpersister.tables.errors import TableError
from tests.unit.tables.samples import Documents, manifest_of_types

REVISION = revision_of(manifest_of_types({"names": ["order", "refund"]}, {"pattern": "^x", "folder": "y"}), "1.0")


class Opened:
    """The table of a type in the catalog."""

    def __init__(self, world: "World", type_: str) -> None:
        self._world = world
        self.name = type_

    def ensure(self, columns: TableColumns) -> TableBinding:
        assert columns.folders == ("dt",)
        self._world.opened.append(self.name)
        error = self._world.errors.get(self.name)
        if error is not None:
            raise error
        return TableBinding(f"lake.clicks_{self.name}", f"uuid of {self.name}", 1, 0, ("dt",), {"id": 1})


class World(Documents):
    """A bucket, a catalog and a clock."""

    def __init__(self) -> None:
        super().__init__()
        self.errors: dict[str, Exception] = {}
        self.opened: list[str] = []
        self.time = 0.0
        self.bindings = self.member()

    def member(self) -> Bindings[TableColumns]:
        store: Any = self
        return Bindings(
            store,
            "group",
            lambda topic, number, type_: f"lake.{topic}_{number}_{type_}",
            lambda topic, number, type_: Opened(self, type_),
            columns_by_type,
            clock=lambda: self.time,
        )

    def asked(self, bindings: Bindings[TableColumns] | None = None, revision: Revision = REVISION) -> set[str] | None:
        """Ask, and ask again when all have answered; return the types that have tables."""
        bindings = bindings or self.bindings
        for _ in ("bucket", "catalog"):
            bindings.bound("clicks", revision)
            for table in bindings._topics["clicks"].tables.values():
                if table.answer is not None:
                    table.answer.exception()
        found = bindings.bound("clicks", revision)
        return None if found is None else set(tables_of(found.document))


def test_all_types_are_bound_and_noted_for_other_members() -> None:
    world = World()
    assert world.bindings.bound("clicks", REVISION) is None, "nobody waits for an answer"
    assert world.asked() == {"order", "refund", "y"}
    assert sorted(world.opened) == ["order", "refund", "y"]
    assert world.asked(world.member()) == {"order", "refund", "y"}
    assert len(world.opened) == 3
    assert len(world.documents) == 3
    found = world.bindings.bound("clicks", REVISION)
    assert found is not None
    assert tables_of(found.document)["order"].uuid == "uuid of order"
    assert resource_of(found.document).spec.types is not None, "whoever takes over can read it"


def test_a_type_whose_table_does_not_take_its_columns_is_stored_without_it_until_that_is_mended() -> None:
    world = World()
    world.errors["refund"] = TableError("schema", "table lake.clicks_refund cannot take the columns")
    assert world.asked() == {"order", "y"}
    assert world.bindings.take_errors() == {}, "the topic does not wait"
    [(type_, told)] = world.bindings.without_table("clicks").items()
    assert (type_, "type refund is stored without its table: table lake.clicks_refund cannot" in told) == (
        "refund",
        True,
    )
    world.time += 100
    world.errors["refund"] = TableError("unavailable", "away")
    assert world.asked() == {"order", "y"}, "what was refused waits for no catalog"
    world.errors.clear()
    world.time += 100
    assert world.asked() == {"order", "refund", "y"}
    assert world.bindings.without_table("clicks") == {}


def test_a_catalog_that_is_away_lets_the_topic_wait() -> None:
    world = World()
    away = TableError("unavailable", "ConnectTimeout")
    world.errors = dict.fromkeys(("order", "refund", "y"), away)
    for _ in range(30):
        assert world.asked() is None
        world.time += 100
    assert world.bindings.take_errors() == {"clicks": away}
    world.errors.clear()
    assert world.asked() == {"order", "refund", "y"}


def test_one_table_that_does_not_answer_is_left_out_once_another_one_does() -> None:
    world = World()
    away = TableError("unavailable", "HTTP 500")
    world.errors["y"] = away
    assert world.asked() is None
    world.errors = dict.fromkeys(("order", "refund", "y"), away)
    for _ in range(20):
        world.time += 100
        assert world.asked() is None, "the catalog is away"
    del world.errors["order"]
    world.time += 100
    assert world.asked() == {"order", "refund"}
    [told] = world.bindings.without_table("clicks").values()
    assert told == "type y is stored without its table: HTTP 500 (and the catalog answers for others)"
    world.errors.clear()
    world.time += 100
    assert world.asked() == {"order", "refund", "y"}


def test_a_type_that_is_declared_later_is_asked_for_alone() -> None:
    world = World()
    world.asked()
    entries = {"names": ["order", "refund", "later"]}, {"pattern": "^x", "folder": "y"}
    assert world.asked(revision=revision_of(manifest_of_types(*entries), "1.0")) == {"order", "refund", "later", "y"}
    assert world.opened[3:] == ["later"]
