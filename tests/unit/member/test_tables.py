"""What a member has for tables: promises wait for columns, and the duty knows how far partitions are committed."""

from typing import Any

import pytest

from logpersister.group.answers import TopicDescription
from logpersister.manifest import ManifestError, parse
from logpersister.manifest.revisions.revision import Revision
from logpersister.manifest.revisions.table_binding import TableBinding, table_of, with_table
from logpersister.manifest.secrets import Secrets
from logpersister.member import tables
from logpersister.member.tables import committed_positions, open_tables, table_opener
from logpersister.pipeline.work import WorkError
from logpersister.plan.intents import CommittedOffset, OffsetMetadata, UnknownMetadataError
from logpersister.ranges import TopicPartition
from logpersister.storage.receipts import NO_TYPE
from logpersister.tables import catalog as catalog_module
from logpersister.tables.appends import CommittedPosition
from logpersister.tables.errors import TableError
from tests.unit.member.fakes import CLICKS, FakeDependencies
from tests.unit.member.test_cycle import begun, turn
from tests.unit.tables.samples import manifest

BINDING = TableBinding("lake.clicks", "uuid", 1, 0, (), {"value": 1})


class FakeTables:
    """A table that is there when a test says so."""

    def __init__(self) -> None:
        self.known: TableBinding | None = None
        self.errors: dict[str, Exception] = {}
        self.refused: set[str] = set()

    def bound(self, topic: str, revision: Revision) -> Revision | None:
        return None if self.known is None else with_table(revision.document, self.known)

    def take_errors(self) -> dict[str, Exception]:
        errors, self.errors = self.errors, {}
        return errors


@pytest.fixture
def table(fakes: FakeDependencies) -> FakeTables:
    found = fakes.tables = FakeTables()
    return found


def test_nothing_is_promised_before_the_table_has_the_columns(fakes: FakeDependencies, table: FakeTables) -> None:
    cycle = begun(fakes, clicks=5)
    table.errors = {"clicks": TableError("no-table", "create it")}
    turn(fakes, cycle)
    assert not fakes.jobs.submitted
    table.known = BINDING
    turn(fakes, cycle)
    [task] = fakes.jobs.submitted[0][0]
    [part] = task.parts
    assert table_of(part.document) == BINDING
    assert fakes.state_store.revisions[part.revision] == part.document, "who executes it later finds it there"


def test_what_is_wrong_is_a_failure_of_the_topic(fakes: FakeDependencies, table: FakeTables) -> None:
    cycle = begun(fakes, clicks=5)
    table.errors = {"clicks": TableError("unauthorized", "no")}
    assert cycle.resolver.output_revisions.take_errors() == {"clicks": WorkError("catalog", "no")}
    table.errors, table.refused = {"clicks": TableError("schema", "no")}, {"clicks"}
    revisions = cycle.resolver.output_revisions
    assert revisions.refused == {"clicks"}
    assert revisions.take_errors() == {"clicks": WorkError("table", "no")}
    assert revisions.anew({CLICKS: 5}) == {}


def test_a_catalog_is_opened_once_and_again_with_a_rotated_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(catalog_module, "open_catalog", lambda spec, *_: opened.append(spec.uri))
    resource = manifest(table={"catalog": {"type": "rest", "uri": "http://c", "secretName": "login"}})
    assert resource.spec.table is not None
    environment = {"LOGPERSISTER_SECRET_LOGIN_TOKEN": "before"}
    open_table = table_opener(resource, resource.spec.table, Secrets(environment))
    for token in ("before", "before", "after", "after"):
        environment["LOGPERSISTER_SECRET_LOGIN_TOKEN"] = token
        assert open_table("clicks", 1, NO_TYPE).name == "lake.clicks"
    assert len(opened) == 2
    with pytest.raises(TableError, match="receipts of topic clicks are of a manifest with spec"):
        open_table("clicks", 1, "order")


class Reader:
    """Kafka's answers."""

    def __init__(self, **partitions: Any) -> None:
        self.registered = {TopicPartition("clicks", int(name[1:])): value for name, value in partitions.items()}

    def describe(self, topics: list[str]) -> dict[str, TopicDescription]:
        return {"clicks": TopicDescription("id", dict.fromkeys(range(6), 1))} if topics == ["clicks"] else {}

    def committed(self, partitions: Any) -> dict[TopicPartition, Any]:
        return {partition: self.registered.get(partition) for partition in partitions}


def test_only_offsets_with_metadata_of_ours_tell_how_far_a_partition_is() -> None:
    reader: Any = Reader(
        p0=CommittedOffset(7, OffsetMetadata("id", 2)),
        p1=CommittedOffset(7, None),
        p2=UnknownMetadataError("newer"),
        p3=CommittedOffset(7, OffsetMetadata("before", 1)),
        p4=CommittedOffset(0, OffsetMetadata("id", 1, "abc", (5,))),
    )
    assert committed_positions(reader, "clicks") == {0: CommittedPosition(7, 2, "id"), 4: CommittedPosition(0, 1, "id")}
    assert committed_positions(reader, "gone") == {}


def test_a_manifest_without_a_table_opens_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    store: Any = None
    document = manifest().model_dump(by_alias=True, exclude_none=True, exclude_defaults=True)
    document["spec"].pop("table")
    without = parse(document | {"apiVersion": "logpersister.dev/v1alpha1", "kind": "LogPersister"})
    opened = open_tables(without, {}, store, Secrets({}))
    assert (opened.bindings, list(opened.duties)) == (None, [])
    monkeypatch.setattr(tables, "find_spec", lambda _: None)
    with pytest.raises(ManifestError, match=r"install logpersister\[tables\]"):
        open_tables(manifest(), {}, store, Secrets({}))
