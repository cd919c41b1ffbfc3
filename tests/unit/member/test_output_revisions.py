"""Which schema a range is promised with, when the registry is asked, and what happens when it does not answer."""

import json
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import closing
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import pytest

from logpersister.aside import at_once, in_a_thread, settle
from logpersister.manifest import parse
from logpersister.manifest.revisions.revision import (
    OutputSchema,
    output_schema_of,
    resource_of,
    revision_of,
    revision_of_document,
)
from logpersister.manifest.secrets import Secrets
from logpersister.member.cycle import Cycle
from logpersister.member.listener import Listener
from logpersister.member.output_revisions import OutputRevisions
from logpersister.member.revision_snapshots import RevisionSnapshots
from logpersister.pipeline.rules import noted_rules, rules_of
from logpersister.pipeline.work import WorkError
from logpersister.plan.holds import HoldReason
from logpersister.plan.intents import CommittedOffset, OffsetMetadata
from logpersister.ranges import Range, TopicPartition
from logpersister.registry import RegistryError, open_schemas
from logpersister.registry.client import READ_SECONDS
from tests.stack.http_server import serving, silent
from tests.unit.manifest.documents import changed
from tests.unit.member.fakes import CLICKS, ORDERS, TOPIC_ID, FakeDependencies, FakeSchemas
from tests.unit.member.test_cycle import begin, begun, commits, cycle_in, turn
from tests.unit.registry.test_schemas import V1


@pytest.fixture
def schemas(fakes: FakeDependencies) -> FakeSchemas:
    fakes.schemas = FakeSchemas()
    return fakes.schemas


def promised(fakes: FakeDependencies, partition: object = CLICKS) -> list[tuple[int, OutputSchema | None]]:
    """Return the starts of all promises, with the schema that their revision's snapshot has."""
    found: list[tuple[int, OutputSchema | None]] = []
    for sent, value, _ in fakes.register.sent:
        if sent == partition and value.metadata is not None and value.metadata.ends:
            assert value.metadata.revision is not None
            found.append((value.offset, output_schema_of(fakes.state_store.revisions[value.metadata.revision])))
    return found


def test_the_schema_is_in_the_bucket_before_the_intent_names_it(fakes: FakeDependencies, schemas: FakeSchemas) -> None:
    cycle = begun(fakes, clicks=5)
    schemas.on_asked = lambda: assert_nothing_is_promised(fakes)
    turn(fakes, cycle)
    assert promised(fakes) == [(0, OutputSchema(1, '"clicks 1"'))]
    [task] = fakes.jobs.submitted[0][0]
    assert output_schema_of(task.parts[0].document) == OutputSchema(1, '"clicks 1"')


def assert_nothing_is_promised(fakes: FakeDependencies) -> None:
    assert promised(fakes) == []


def test_it_is_asked_after_the_end_offsets_and_only_for_ends_that_it_was_not_asked_for(
    fakes: FakeDependencies, schemas: FakeSchemas
) -> None:
    cycle = begun(fakes, clicks=1000)
    ends_asked: list[int] = []
    schemas.on_asked = lambda: ends_asked.append(fakes.offsets.asked)
    asked_before = fakes.offsets.asked
    turn(fakes, cycle)
    assert ends_asked[0] > asked_before
    schemas.version = 2
    fakes.jobs.end()
    turn(fakes, cycle)
    turn(fakes, cycle)
    assert len(promised(fakes)) == 2, "a backlog takes more than one intent"
    assert {schema for _, schema in promised(fakes)} == {OutputSchema(1, '"clicks 1"')}
    assert schemas.asked == ["clicks"], "what was there when it was asked has no newer schema"


def test_schemas_evolve_at_boundaries(fakes: FakeDependencies, schemas: FakeSchemas) -> None:
    cycle = begun(fakes, clicks=5)
    turn(fakes, cycle)
    schemas.version = 2
    fakes.jobs.end()
    fakes.offsets.end[CLICKS] = 8
    turn(fakes, cycle)
    turn(fakes, cycle)
    assert promised(fakes) == [(0, OutputSchema(1, '"clicks 1"')), (5, OutputSchema(2, '"clicks 2"'))]


def test_who_takes_over_goes_on_with_the_schema_of_the_promise(fakes: FakeDependencies, schemas: FakeSchemas) -> None:
    first = cycle_in(fakes)
    begin(fakes, first, clicks=5)
    turn(fakes, first)
    schemas.version, schemas.error = 2, RegistryError("unreachable", "away")
    second = cycle_in(fakes)
    turn(fakes, second)
    turn(fakes, second)
    task, again = fakes.jobs.submitted[0][0][0], fakes.jobs.submitted[1][0][0]
    assert again.parts[0].revision == task.parts[0].revision
    assert output_schema_of(again.parts[0].document) == OutputSchema(1, '"clicks 1"')


def test_a_registry_that_is_away_delays_ranges(fakes: FakeDependencies, schemas: FakeSchemas) -> None:
    fakes.group.tokens = {CLICKS: 1, ORDERS: 2}
    cycle = begun(fakes, clicks=5, orders=5)
    schemas.error = RegistryError("unreachable", "away")
    turn(fakes, cycle)
    assert len(schemas.asked) == 1, "it is away for all topics"
    assert not promised(fakes)
    assert not cycle.states.held()
    schemas.error = None
    turn(fakes, cycle, seconds=20)
    assert promised(fakes, CLICKS)
    assert promised(fakes, ORDERS)


def test_what_one_topic_asks_for_in_vain_keeps_no_other_waiting(fakes: FakeDependencies, schemas: FakeSchemas) -> None:
    """The registry is asked again about other topics first."""
    fakes.group.tokens = {CLICKS: 1, ORDERS: 2}
    cycle = begun(fakes, clicks=5, orders=5)

    def no_clicks() -> None:
        schemas.error = RegistryError("other", "500") if schemas.asked[-1] == "clicks" else None

    schemas.on_asked = no_clicks
    turn(fakes, cycle)
    assert schemas.asked == ["clicks"]
    turn(fakes, cycle, seconds=20)
    assert promised(fakes, ORDERS)
    assert not promised(fakes, CLICKS)


def test_a_registry_that_never_answers_takes_seconds_of_its_own_topics_only(fakes: FakeDependencies) -> None:
    """Neither for columns, nor for samples, nor in any turn that follows."""
    version = {"version": 1, "id": 1, "schema": V1}
    fakes.group.tokens = {CLICKS: 1, ORDERS: 2}
    fakes.aside = in_a_thread
    with silent() as there, serving(lambda _: (200, json.dumps(version).encode())) as here:
        overrides = [{"topics": ["clicks"], "value": {"avro": {"registry": {"url": there}}}}]
        of_all = {"spec.value": {"avro": {"registry": {"url": here}}}, "spec.overrides": overrides}
        resource = parse(changed({"spec.kafka.topics": ["clicks", "orders"], **of_all}))
        schemas = open_schemas(resource, Secrets({}))
        assert schemas is not None

        def sample(partition: TopicPartition, start: int) -> tuple[int, int]:
            schemas.resource_of(partition.topic)
            return 1, 1000

        with closing(schemas), patch.object(fakes.sampler, "sample", sample):
            own = revision_of(resource, "1.0", rules_of(resource))
            cycle = Cycle(resource, own, replace(fakes.ports(), schemas=schemas), clock=fakes.clock, now=fakes.clock)
            begin(fakes, cycle, clicks=5, orders=5)
            until = time.monotonic() + READ_SECONDS
            turns = 0
            while turns < 5 or not fakes.jobs.submitted:
                turn(fakes, cycle)
                turns += 1
                assert time.monotonic() < until, "nobody waits for it"
    assert promised(fakes, ORDERS)
    assert not promised(fakes, CLICKS)


def test_an_answer_that_comes_late_is_about_what_was_there_when_it_was_asked_for(
    fakes: FakeDependencies, schemas: FakeSchemas
) -> None:
    """So neither a registry that is slow nor a topic that grows meanwhile stops anything."""
    late: list[Callable[[], None]] = []

    def aside(question: Callable[[], Any], _seconds: float) -> "Future[Any]":
        answer, told = Future[Any](), at_once(question)
        late.append(lambda: settle(answer, told.result))
        return answer

    fakes.aside = aside
    cycle = begun(fakes, clicks=5)
    cycle.sizing.sizes.learn("clicks", offsets=1, stored_bytes=1000, half_life_bytes=1)
    for version, end in enumerate((8, 12, 15), start=2):
        turn(fakes, cycle, seconds=3600)
        schemas.version, fakes.offsets.end[CLICKS] = version, end
        before = len(fakes.jobs.submitted)
        for _ in range(4):  # it is asked for the version, then whether that reads the one before
            while late:
                late.pop()()
            turn(fakes, cycle)
        assert len(fakes.jobs.submitted) == before + 1
        fakes.jobs.end(-1)
        turn(fakes, cycle)
    assert [(start, schema and schema.version) for start, schema in promised(fakes)] == [(0, 1), (5, 2), (8, 3)]


def test_what_waits_for_a_registry_is_reported_and_not_asked_for_in_every_turn(
    fakes: FakeDependencies, schemas: FakeSchemas
) -> None:
    class Failures(Listener):
        def failed(self, range_: Range, error: WorkError) -> None:
            found.append((range_, error.kind, error.message))

    found: list[tuple[Range, str, str]] = []
    cycle = begun(fakes, Failures(), clicks=5)
    schemas.error = RegistryError("rejected", "field price is one of several types")
    turn(fakes, cycle)
    turn(fakes, cycle)
    assert found == [(Range(CLICKS, 0, 5), "registry", "field price is one of several types")]
    assert len(schemas.asked) == 1
    assert cycle.resolver.output_revisions.refused == {"clicks"}
    schemas.error = None
    turn(fakes, cycle, seconds=20)
    assert promised(fakes)
    assert len(found) == 1
    assert not cycle.resolver.output_revisions.refused


@pytest.mark.parametrize("restarted", [False, True])
def test_a_version_that_cannot_read_the_one_before_holds_its_partition(
    fakes: FakeDependencies, schemas: FakeSchemas, *, restarted: bool
) -> None:
    cycle = begun(fakes, clicks=5)
    turn(fakes, cycle)
    fakes.jobs.end()
    turn(fakes, cycle)
    schemas.version, schemas.problem = 2, "field price is int and was string"
    fakes.offsets.end[CLICKS] = 8
    if restarted:
        cycle = cycle_in(fakes)
        turn(fakes, cycle)
    turn(fakes, cycle)
    turn(fakes, cycle, seconds=3600)  # records that came under its eyes wait since then
    hold = cycle.states.held()[CLICKS]
    assert hold.reason is HoldReason.SCHEMA_INCOMPATIBLE
    assert "field price is int and was string" in hold.message
    assert "set version of its registry to 1" in hold.message
    assert "raise spec.generation" in hold.message
    assert commits(fakes)[-1][0] == 5


def test_the_limit_of_quarantine_is_that_of_the_topic_in_our_manifest(fakes: FakeDependencies) -> None:
    """Also for ranges of another revision, of whose documents none says for which topics it is."""
    limited = {"spec.value": {"json": {}}, "spec.quarantine": {"holdAbove": "5%"}}
    before = parse(changed(limited))
    theirs = revision_of(before, "1.0", rules_of(before))
    fakes.state_store.revisions[theirs.hash] = theirs.document
    overrides = [{"topics": ["orders"], "quarantine": {"holdAbove": "50%"}}]
    resource = parse(changed(limited | {"spec.kafka.topics": ["clicks", "orders"], "spec.overrides": overrides}))
    fakes.group.tokens = {CLICKS: 1, ORDERS: 2}
    promise = CommittedOffset(0, OffsetMetadata(TOPIC_ID, 1, theirs.hash, (5,)))
    fakes.register.kafka |= {CLICKS: promise, ORDERS: promise}
    Cycle(resource, revision_of(resource, "1.0", rules_of(resource)), fakes.ports(), clock=fakes.clock).turn()
    works = [work for tasks, _ in fakes.jobs.submitted for task in tasks for work in task.work]
    assert {work.range.partition: work.hold_above for work in works} == {CLICKS: 5, ORDERS: 50}


def test_topics_with_overrides_are_promised_as_a_manifest_of_their_own(fakes: FakeDependencies) -> None:
    def promised_under(overrides: list[dict[str, object]]) -> tuple[str, str]:
        resource = parse(changed({"spec.kafka.topics": ["clicks", "orders"], "spec.overrides": overrides}))
        own = revision_of(resource, "1.0", rules_of(resource))
        revisions = OutputRevisions(resource, own, None, RevisionSnapshots(own, "logs", fakes.state_store), {})
        found = revisions.of({CLICKS: 5, ORDERS: 5}, {}, {})
        assert found == revisions.anew({CLICKS: 5, ORDERS: 5})
        for revision in found.values():
            assert isinstance(revision, str)
            document = revisions.documents.get(revision, own.document)
            assert noted_rules(document, {}) == rules_of(resource_of(dict(document)))
            assert revision_of_document(document).hash == revision
        return str(found[CLICKS]), str(found[ORDERS])

    json_lines: dict[str, object] = {"topics": ["orders"], "output": {"jsonl": {}}}
    without, other = promised_under([]), promised_under([json_lines])
    assert without[0] == without[1] == other[0]
    assert other[1] != without[1]
    assert promised_under([json_lines | {"value": {"json": {}}}])[0] == other[0]


def test_a_topic_whose_subject_names_schemas_is_promised_under_a_revision_that_names_it(
    fakes: FakeDependencies,
) -> None:
    columns = {"fields": [{"name": "id", "type": "int64"}], "registry": {"url": "http://r:8081"}, "singleObject": {}}
    ours = {"spec.kafka.topics": ["clicks", "orders"], "spec.value": {"avro": columns}}
    resource = parse(changed(ours))
    own = revision_of(resource, "1.0", rules_of(resource))
    revisions = OutputRevisions(resource, own, None, RevisionSnapshots(own, "logs", fakes.state_store), {})
    found = revisions.of({CLICKS: 5, ORDERS: 5}, {}, {})
    subjects = {}
    for partition, revision in found.items():
        assert isinstance(revision, str)
        schema = resource_of(dict(revisions.documents[revision])).spec.row_schema
        assert schema is not None
        assert schema.registry is not None
        subjects[partition] = schema.registry.subject
    assert subjects == {CLICKS: "clicks-value", ORDERS: "orders-value"}
