"""What ids of schemas mean: asked for once, an unknown one twice, and no one waits long for a registry that is away."""

from collections.abc import Mapping
from contextlib import suppress
from uuid import UUID

import pytest

from logpersister.forms.problems import ManifestError
from logpersister.manifest.secrets import Secrets
from logpersister.registry import Registries, RegistryError, RegistryWriters, Schema
from logpersister.registry.client import RegistryClient
from logpersister.registry.errors import RegistryErrorKind, failure
from logpersister.registry.writers import ASKED_AGAIN_SECONDS, GLUE_PACE, SPARED, Pace, pace_of
from logpersister.values.avro.rows import fingerprint
from logpersister.values.reading.writers import NO_ID, WriterSchema
from tests.clock import Clock
from tests.unit.manifest.documents import accepted
from tests.unit.registry.test_schemas import FakeSubjects

URL = "http://registry:8081"
KNOWN = WriterSchema('"string"', kind="avro")


class FakeClient(RegistryClient):
    """A registry of which a test says what it knows."""

    def __init__(self, known: Mapping[int, Schema]) -> None:
        self.known = dict(known)
        self.guids = {2**99: 1}
        self.has_guids = True
        self.error: RegistryErrorKind | None = None
        self.asked: list[int] = []
        self.closed = False

    def schema(self, schema_id: int) -> Schema:
        self.asked.append(schema_id)
        if self.error is not None:
            raise failure(URL, self.error, "it fails", "asking")
        if schema_id not in self.known:
            raise failure(URL, "unknown", "it does not know it", "asking")
        return self.known[schema_id]

    def id_of(self, guid: UUID) -> int:
        self.asked.append(guid.int)
        if not self.has_guids:
            raise failure(URL, "unsupported", "it knows no GUIDs", "asking")
        if guid.int not in self.guids:
            raise failure(URL, "unknown", "it does not know it", "asking")
        return self.guids[guid.int]

    def reach(self) -> None:
        if self.error is not None:
            raise failure(URL, self.error, "it fails", "asking")

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def client() -> FakeClient:
    kinds = {2: Schema("syntax = 3", "PROTOBUF"), 3: Schema("{", "JSON"), 4: Schema("<a/>", "XML")}
    return FakeClient({1: Schema('"string"', "AVRO"), **kinds})


@pytest.fixture
def time() -> Clock:
    return Clock()


@pytest.fixture
def writers(client: FakeClient, time: Clock) -> RegistryWriters:
    return RegistryWriters(lambda: client, clock=time, sleep=time.sleep)


def test_what_an_id_means_is_asked_for_once(writers: RegistryWriters, client: FakeClient, time: Clock) -> None:
    known = {
        1: KNOWN,
        2: WriterSchema("syntax = 3", kind="protobuf"),
        3: WriterSchema(
            None,
            "schema 3 is not JSON Schema: it is no JSON: expecting property name enclosed in double quotes at line 1, "
            "column 2",
            kind="json",
        ),
        4: WriterSchema(None, "schema 4 is registered as XML, which nothing here reads"),
    }
    assert writers.schemas([1, 2, 3, 4]) == writers.schemas([4, 3, 2, 1]) == known
    assert (client.asked, time.pauses) == ([1, 2, 3, 4], [])


def unknown(*ids: int) -> dict[int, WriterSchema]:
    return {one: WriterSchema(None, f"the schema registry has no schema {one}", is_unknown=True) for one in ids}


def test_an_unknown_id_is_asked_for_twice(writers: RegistryWriters, client: FakeClient, time: Clock) -> None:
    assert writers.schemas([1, 8, 9]) == {1: KNOWN} | unknown(8, 9)
    assert (client.asked, time.pauses) == ([1, 8, 9, 8, 9], [ASKED_AGAIN_SECONDS])


def test_a_task_waits_once_however_much_garbage_it_reads(
    writers: RegistryWriters, client: FakeClient, time: Clock
) -> None:
    """What a task reads was in Kafka before it began, and its schema in the registry: later nothing can be too new."""
    writers.begin()
    for number in range(10, 15):
        assert writers.schemas([number, 9]) == unknown(number, 9)
    assert time.pauses == [ASKED_AGAIN_SECONDS]
    assert client.asked == [10, 9, 10, 9, 11, 12, 13, 14]


def test_the_next_task_asks_again_and_does_not_wait(writers: RegistryWriters, client: FakeClient, time: Clock) -> None:
    writers.schemas([8, 9])
    time.now += 60
    writers.begin()
    client.known[9] = client.known[1]
    asked = len(client.asked)
    assert writers.schemas([8, 9]) == {9: KNOWN} | unknown(8)
    assert client.asked[asked:] == [8, 9]
    assert time.pauses == [ASKED_AGAIN_SECONDS]


def test_many_are_asked_at_once(client: FakeClient) -> None:
    writers = RegistryWriters(lambda: client)
    writers.schemas([1])
    client.known |= dict.fromkeys(range(100, 200), client.known[1])
    assert writers.schemas(range(100, 200)) == dict.fromkeys(range(100, 200), KNOWN)
    assert sorted(client.asked) == [1, *range(100, 200)]


@pytest.mark.parametrize("kind", ["unreachable", "timeout", "unauthorized", "throttled", "rejected", "other"])
def test_a_registry_that_fails_says_nothing_of_an_id(
    writers: RegistryWriters, client: FakeClient, time: Clock, kind: RegistryErrorKind
) -> None:
    writers.schemas([1])
    client.error = kind
    for _ in range(3):  # the first one waits for time-outs, the others do not
        with pytest.raises(RegistryError, match="it fails"):
            writers.schemas([1, 5])
    assert client.asked == [1, 5]
    assert writers.schemas([1]) == {1: KNOWN}
    for _ in range(20):  # less and less often
        time.now += SPARED.longest / 2
        with suppress(RegistryError):
            writers.schemas([5])
    assert len(client.asked) < 2 + 20 * 0.8
    time.now += SPARED.longest
    client.error = None
    client.known[5] = client.known[1]
    time.now += SPARED.first
    assert writers.schemas([5]) == {5: KNOWN}


def test_a_login_that_is_refused_is_read_anew(client: FakeClient, time: Clock) -> None:
    """Somebody may have changed the Secret meanwhile."""
    renewed = FakeClient(client.known)
    clients = [client, renewed]
    writers = RegistryWriters(lambda: clients.pop(0), clock=time, sleep=time.sleep)
    client.error = "unauthorized"
    with pytest.raises(RegistryError):
        writers.schemas([1])
    time.now += SPARED.first
    assert writers.schemas([1]) == {1: KNOWN}
    assert (client.closed, renewed.closed) == (True, False)


def test_the_secret_of_a_registry_must_be_there() -> None:
    schema = {"registry": {"url": URL, "secretName": "keys"}, "fields": [{"name": "id", "type": "int64"}]}
    resource = accepted({"spec.value": {"avro": schema}})
    with pytest.raises(ManifestError, match=r"spec.value.avro.registry.secretName"):
        Registries(Secrets({})).of(resource)
    secrets = {f"LOGPERSISTER_SECRET_KEYS_{key}": "x" for key in ("USERNAME", "PASSWORD")}
    writers = Registries(Secrets(secrets)).of(resource)
    assert writers is not None
    assert writers.url == URL
    writers.close()


# ids by GUIDs


def test_ids_of_guids_are_asked_for_once_and_an_unknown_one_twice(
    writers: RegistryWriters, client: FakeClient, time: Clock
) -> None:
    for _ in range(2):
        assert writers.ids([2**99, 2**100]) == {2**99: 1, 2**100: NO_ID}
    assert (client.asked, time.pauses) == ([2**99, 2**100, 2**100], [ASKED_AGAIN_SECONDS])
    assert writers.knows_guids()


def test_a_registry_without_guids_knows_other_schemas_as_before(writers: RegistryWriters, client: FakeClient) -> None:
    client.has_guids = False
    assert not writers.knows_guids()
    with pytest.raises(RegistryError, match="PrefixSchemaIdSerializer"):
        writers.ids([2**99])
    assert writers.schemas([1]) == {1: KNOWN}, "records of other topics do not wait"


# schemas by their fingerprints

INT, LONG = '"int"', '{"type": "record", "name": "a.R", "fields": [{"name": "n", "type": "long", "doc": "x"}]}'
OF_INT, OF_LONG = 0x7275D51A3F395C8F, fingerprint(LONG)


def subject_of(*schemas: Schema) -> FakeSubjects:
    """Return a registry of one subject."""
    return FakeSubjects({"orders-value": dict(enumerate(schemas, 1))})


def test_fingerprints_are_of_the_versions_of_a_subject(time: Clock) -> None:
    no_avro = [Schema("syntax", "PROTOBUF"), Schema("{", "AVRO"), Schema('{"type": "fixed"}', "AVRO")]
    client = subject_of(Schema(INT, "AVRO"), *no_avro)
    writers = RegistryWriters(lambda: client, clock=time, sleep=time.sleep).of_subject("orders-value")
    assert writers.schemas([OF_INT]) == {OF_INT: WriterSchema(INT, kind="avro")}
    assert client.asked == [None, 4, 3, 2, 1]
    assert writers.schemas([OF_INT]) == {OF_INT: WriterSchema(INT, kind="avro")}
    assert len(client.asked) == 5, "what is known is not asked for"


def test_a_new_version_is_found_when_its_fingerprint_comes(time: Clock) -> None:
    client = subject_of(Schema(INT, "AVRO"))
    registry = RegistryWriters(lambda: client, clock=time, sleep=time.sleep)
    writers = registry.of_subject("orders-value")
    told = f"no version of subject 'orders-value' has the fingerprint {OF_LONG:016x}"
    assert writers.schemas([OF_LONG]) == {OF_LONG: WriterSchema(None, told, is_unknown=True)}
    assert time.pauses == [ASKED_AGAIN_SECONDS], "it may be new"
    assert client.asked == [None, 1, None]
    client.subjects["orders-value"][2] = Schema(LONG, "AVRO")
    assert writers.schemas([OF_LONG])[OF_LONG].is_unknown, "it was not there when this was in Kafka"
    time.now += 1
    registry.begin()
    assert registry.of_subject("orders-value").schemas([OF_LONG]) == {OF_LONG: WriterSchema(LONG, kind="avro")}
    assert client.asked == [None, 1, None, None, 2]


def test_glue_is_asked_less() -> None:
    url = {"url": "glue://eu-central-1/orders"}
    schema = accepted({"spec.value": {"json": {"registry": url}}}).spec.row_schema
    assert schema is not None
    assert schema.registry is not None
    assert pace_of(schema.registry) == GLUE_PACE
    assert GLUE_PACE.questions < Pace().questions
