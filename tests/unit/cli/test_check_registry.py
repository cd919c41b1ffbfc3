"""What ``logpersister check`` says of columns that a registry declares."""

import time
from typing import Any

import pytest

from logpersister.cli.check.finding import Finding
from logpersister.cli.check.registry import all_columns_findings, columns_findings, registry_findings
from logpersister.cli.exits import UnreachableError
from logpersister.forms.problems import ManifestError
from logpersister.manifest.secrets import Secrets
from logpersister.registry import RegistryError, SubjectVersion, TopicSchemas
from logpersister.registry import client as client_module
from logpersister.registry.errors import RegistryErrorKind
from logpersister.values.registry import RegistryPlace
from tests.stack.http_server import serving, silent
from tests.unit.manifest.documents import accepted
from tests.unit.registry.test_schemas import BY_REGISTRY, V1, FakeSubjects, record, schemas, versions

TEXT = record(id="string")


def found_of(*texts: str, compares: bool = True) -> list[Finding]:
    client = FakeSubjects({"clicks-value": versions(*texts)} if texts else {})
    return list(columns_findings(schemas(client), "clicks", compares=compares))


@pytest.mark.parametrize("texts", [(V1,), (V1, V1)])
def test_it_says_which_version_declares_the_columns(texts: tuple[str, ...]) -> None:
    assert found_of(*texts) == [Finding("registry", "ok", f"clicks: 1 column of version {len(texts)}")]


def test_it_says_which_earlier_versions_go_into_quarantine_and_why() -> None:
    _, found = found_of(TEXT, V1, record(other="long"), TEXT, V1)
    told = (
        "clicks: version 5 cannot read all versions before it: "
        "id: the writer's schema has string, which cannot become int64 (version 1, 4), "
        "id: it is required, has no default, and is not in the writer's schema (version 3); "
        "records of those go into quarantine; set version of its registry to a version that reads them, or name "
        "the columns in fields of spec.value, or replay these records out of quarantine later "
        "(docs/schemas.md#columns-from-the-registry)"
    )
    assert found == Finding("registry", "warning", told)


def test_the_start_of_a_member_asks_for_no_earlier_version() -> None:
    assert [one.verdict for one in found_of(TEXT, V1, compares=False)] == ["ok"]


def test_a_subject_that_is_not_there_is_a_warning() -> None:
    (found,) = found_of()
    assert (found.verdict, found.message.startswith("clicks: schema registry")) == ("warning", True)


def test_a_topic_whose_schema_cannot_be_columns_keeps_no_other_from_starting() -> None:
    client = FakeSubjects({"clicks-value": versions(V1), "orders-value": versions('"string"')})
    known = TopicSchemas(accepted(BY_REGISTRY), [schemas(client)])
    good, bad = all_columns_findings(known, ["orders", "clicks"], {}, compares=False)
    assert (good.verdict, bad.verdict) == ("ok", "warning")
    assert bad.message.startswith("orders: ")
    assert bad.message.endswith("; this topic waits, and all others do not")
    for topics, compares in ((["orders"], False), (["clicks", "orders"], True)):
        with pytest.raises(RegistryError):
            list(all_columns_findings(known, topics, {}, compares=compares))


@pytest.mark.parametrize("kind", ["timeout", "other"])
def test_a_subject_about_which_a_registry_does_not_answer_keeps_no_other_from_starting(kind: RegistryErrorKind) -> None:
    class Client(FakeSubjects):
        def latest(self, subject: str) -> SubjectVersion:
            self.error = kind if subject != "clicks-value" else None
            return super().latest(subject)

    client = Client({"clicks-value": versions(V1)})
    known = TopicSchemas(accepted(BY_REGISTRY), [schemas(client)])
    away: dict[RegistryPlace, RegistryError] = {}
    good, *bad = all_columns_findings(known, ["clicks", "orders", "views"], away, compares=False)
    told = [] if kind == "timeout" else ["orders", "views"]
    assert (good.verdict, [one.message.partition(":")[0] for one in bad]) == ("ok", told)
    assert (len(away), len(client.asked)) == ((1, 2) if kind == "timeout" else (0, 3)), (
        "who is silent is asked, told once"
    )
    for topics, compares in ((["orders", "views"], False), (["clicks", "orders"], True)):
        with pytest.raises(RegistryError):
            list(all_columns_findings(known, topics, {}, compares=compares))


def test_a_registry_that_does_not_answer_keeps_no_topic_from_starting_that_asks_for_another() -> None:
    with serving(lambda _: (200, b"[]")) as here:

        def found_by(url: str, *others: str, compares: bool = False) -> list[str]:
            overrides = [{"topics": [f"of{place}"], **_by_fields(other)} for place, other in enumerate(others)]
            names = ["clicks", *(f"of{place}" for place in range(len(others)))]
            changes = {"spec.kafka.topics": names, "spec.overrides": overrides, "spec.output": {"parquet": {}}}
            of_all = {f"spec.{name}": it for name, it in _by_fields(url).items()}
            looks = registry_findings(accepted(changes | of_all), Secrets({}), 1.0, compares=compares)
            verdicts: list[str] = []
            try:
                verdicts += (one.verdict for one in looks)
            except UnreachableError as error:
                return [*verdicts, f"refused {error.may_pass}"]
            return verdicts

        assert found_by(here, NOWHERE) == ["ok", "warning"]
        assert found_by(NOWHERE, here) == ["ok", "warning"]
        assert found_by(NOWHERE, "") == ["warning"], "who needs none"
        assert found_by(NOWHERE) == ["refused True"]
        assert found_by(here, NOWHERE, NOWHERE + "/b", compares=True) == ["ok", "failed", "refused True"]


def test_registries_that_never_answer_take_the_time_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "READ_SECONDS", 1.0)
    with silent() as there:
        by_registry = [_by_fields(f"{there}/{number}") for number in range(8)]
        overrides = [{"topics": [f"of{number}"], **one} for number, one in enumerate(by_registry)]
        names = ["clicks", *(f"of{number}" for number in range(8))]
        changes = {"spec.kafka.topics": names, "spec.overrides": overrides, "spec.output": {"parquet": {}}}
        began = time.monotonic()
        found = list(registry_findings(accepted(changes), Secrets({}), 1.0, compares=False))
    assert [one.verdict for one in found] == ["warning"] * 8
    assert time.monotonic() - began < 7


@pytest.mark.parametrize(
    ("secret", "told"), [("absent", "whose key username was not found"), ("ca", "is not a certificate")]
)
def test_a_secret_of_a_registry_that_cannot_be_used_is_told(secret: str, told: str) -> None:
    registry = {"url": NOWHERE, "secretName": secret}
    secrets = Secrets({"LOGPERSISTER_SECRET_CA_CA_CRT": "PEM", "LOGPERSISTER_SECRET_CA_TOKEN": "t"})
    for declared in ({"fields": [{"name": "id", "type": "int64"}]}, {}):
        resource = accepted({"spec.value": {"avro": {**declared, "registry": registry}}})
        with pytest.raises(
            ManifestError, match=rf"spec.value.avro.registry.secretName: names the Secret {secret}, .*({told})"
        ):
            list(registry_findings(resource, secrets, 1.0, compares=True))


NOWHERE = "http://127.0.0.1:9"


def _by_fields(url: str) -> dict[str, Any]:
    """Return what makes rows of values whose writers a registry knows; nothing of a registry without a URL."""
    block: dict[str, Any] = {"fields": [{"name": "id", "type": "int64"}]}
    return {"value": {"avro": {**block, "registry": {"url": url}}} if url else {"json": block}}
