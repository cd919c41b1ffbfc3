"""A revision has one hash for one meaning, and its document is enough to run it again."""

import json
from typing import Any

import pytest

from logpersister.manifest.revisions.revision import (
    Revision,
    RevisionError,
    reached_like,
    resource_of,
    revision_of,
    revision_of_document,
)
from tests.unit.manifest.documents import accepted
from tests.unit.manifest.test_rules import ACCEPTED

VERSION = "1.2.3"


def revision(changes: dict[str, Any]) -> Revision:
    return revision_of(accepted(changes), VERSION)


@pytest.mark.parametrize("changes", ACCEPTED, ids=str)
def test_a_document_gives_its_resource_and_its_hash_again(changes: dict[str, Any]) -> None:
    before = revision(changes)
    stored = json.loads(before.canonical_json())
    assert stored == before.document
    restored = resource_of(stored)
    assert revision_of(restored, VERSION) == before
    assert revision_of_document(stored).hash == before.hash
    assert restored.group_id == accepted(changes).group_id
    read_by_the_operator = (
        "auto_repair", "autoscale", "image", "members", "network_policy", "pod_template", "rollout", "target_lag",
    )  # fmt: skip
    left_out: Any = {
        **dict.fromkeys(("kafka", "storage"), True),  # whose defaults that depend on other parts are filled in
        **dict.fromkeys(read_by_the_operator, True),
        "spark": {"executor_pod_template"},
    }
    assert restored.spec.model_dump(exclude=left_out) == accepted(changes).spec.model_dump(exclude=left_out)


@pytest.mark.parametrize(
    "changes",
    [
        {"spec.members": 5},
        {"spec.autoscale": {"maxMembers": 5}},
        {"spec.podTemplate": {"spec": {"nodeSelector": {"a": "b"}}}},
        {"spec.spark.executorPodTemplate": {"spec": {"nodeSelector": {"a": "b"}}}},
        {"spec.image": "logpersister:2"},
        {"spec.autoRepair": {"maxRestartsPerHour": 0}},
        {"spec.rollout": {"strategy": "Recreate", "attempt": 1}},
        {"metadata.labels": {"a": "b"}},
        {"status": {"ready": True}},
        {"spec.kafka.groupId": "clicks-backup"},
        {"spec.upload.maxAge": "900s"},
        {"spec.output": {"text": {"compression": "gzip", "delimiter": "\n"}}},
        {"spec.storage.pathStyle": False},
        {"spec.kafka.security": {}},
    ],
    ids=str,
)
def test_what_means_the_same_is_the_same_revision(changes: dict[str, Any]) -> None:
    assert revision(changes).hash == revision({}).hash


@pytest.mark.parametrize(
    "changes",
    [
        {"metadata.name": "other"},
        {"spec.generation": 2},
        {"spec.kafka.topics": ["clicks", "orders"]},
        {"spec.kafka.groupId": "other"},
        {"spec.storage.prefix": "raw"},
        {"spec.output.text": {"compression": "zstd"}},
        {"spec.output.partitionBy": [{"date": {"granularity": "day"}}]},
        {"spec.upload.maxBytes": "1Mi"},
        {"spec.spark.conf": {"spark.executor.memory": "2g"}},
        {"spec.spark.maxExecutors": 2},
    ],
    ids=str,
)
def test_what_means_something_else_is_another_revision(changes: dict[str, Any]) -> None:
    assert revision(changes).hash != revision({}).hash


def test_what_stands_in_a_pod_is_not_stored_in_the_bucket() -> None:
    environment = [{"name": "member", "env": [{"name": "TOKEN", "value": "hunter2"}]}]
    template = {"spec": {"containers": environment}}
    stored = revision({"spec.podTemplate": template, "spec.spark.executorPodTemplate": template})
    assert b"hunter2" not in stored.canonical_json()


def test_an_order_that_matters_is_kept() -> None:
    one, two = ({"topicPattern": name, "upload": {"maxAge": "1m"}} for name in "ab")
    assert revision({"spec.overrides": [one, two]}).hash != revision({"spec.overrides": [two, one]}).hash


def test_it_holds_what_the_user_said_and_what_depends_on_other_parts() -> None:
    assert revision({}).document == {
        "kind": "LogPersister",
        "metadata": {"name": "clicks-backup"},
        "spec": {
            "kafka": {"bootstrapServers": "broker-1:9092", "groupId": "clicks-backup", "topics": ["clicks"]},
            "storage": {"bucket": "logs", "pathStyle": False},
        },
        "codeVersion": VERSION,
    }
    levels = [{"date": {"granularity": "day", "timezone": "UTC"}}, {"offset": {"every": 1000}}]
    written = {"text": {"compression": "zstd", "delimiter": "\n"}, "partitionBy": levels}
    output = revision({"spec.output": written}).document["spec"]["output"]
    assert output["text"] == {"compression": "zstd"}
    assert output["partitionBy"][0] == {"date": {"granularity": "day"}}
    assert output.keys() == {"text", "partitionBy"}
    assert revision({"spec.output.partitionBy": levels}).document["spec"]["output"].keys() == {"partitionBy"}


def test_a_newer_document_is_refused_with_what_to_do() -> None:
    document = revision({}).document | {"codeVersion": "9.0.0"}
    document["spec"]["output"] = {"rcfile": {}}
    document["spec"]["networkPolicy"] = "Open"
    with pytest.raises(RevisionError) as caught:
        resource_of(document)
    message = str(caught.value)
    assert "was written by logpersister 9.0.0" in message
    assert "run a member of version 9.0.0" in message
    assert "spec.output.rcfile: is an unknown field" in message
    assert '"Open" is not allowed here' in message


@pytest.mark.parametrize("document", [{}, {"codeVersion": 1}, {"spec": {}}])
def test_a_damaged_document_is_refused(document: dict[str, Any]) -> None:
    with pytest.raises(RevisionError, match="has no codeVersion"):
        resource_of(document)


_WAYS = {"secretName": "old", "endpoint": "https://old", "encryption": {"type": "KMS"}}


def test_what_others_promised_is_written_by_ways_that_work_now() -> None:
    kafka = {"bootstrapServers": "old:9092", "topics": ["clicks"], "isolationLevel": "read_uncommitted"}
    theirs = revision(
        {"spec.kafka": kafka, "spec.storage": {"bucket": "logs", **_WAYS}, "spec.spark": {"executors": 2}}
    )
    output = resource_of(theirs.document).spec.output
    reserved = {"spark.network.crypto.enabled": "false"}  # as an earlier release allowed
    theirs.document["spec"]["spark"]["conf"] = reserved
    ours = revision({"spec.storage.secretName": "new", "spec.output.text": {"compression": "zstd"}})
    spec = resource_of(reached_like(theirs.document, ours.document)).spec
    assert spec.storage == resource_of(ours.document).spec.storage
    assert spec.kafka.bootstrap_servers == resource_of(ours.document).spec.kafka.bootstrap_servers
    assert spec.spark == resource_of(ours.document).spec.spark
    assert spec.kafka.isolation_level == "read_uncommitted", "what decides the content is as promised"
    assert spec.output == output


def test_a_registry_is_reached_by_the_secret_of_its_topic_while_we_have_it() -> None:
    """Entries of overrides may reach one registry by Secrets of their own, as who owns the topics may have them."""

    def avro(secret: str) -> dict[str, Any]:
        return {"avro": {"registry": {"url": "http://registry:8081", "secretName": secret}}}

    def reached(theirs: str, *ours: str) -> str | None:
        group, *others = ours
        entries = [{"topics": ["clicks"], "value": avro(secret)} for secret in others]
        theirs_document = revision({"spec.value": avro(theirs)}).document
        own = revision({"spec.value": avro(group), "spec.overrides": entries}).document
        schema = resource_of(reached_like(theirs_document, own)).spec.row_schema
        assert schema is not None
        assert schema.registry is not None
        return schema.registry.secret_name

    assert reached("one", "one", "two") == "one"
    assert reached("two", "one", "two") == "two"
    assert reached("gone", "one", "two") == "one"


def test_what_others_promised_for_another_bucket_goes_there_by_our_way() -> None:
    theirs = revision({"spec.storage": {"bucket": "elsewhere", **_WAYS}})
    ours = revision({"spec.storage.secretName": "new", "spec.storage.storageClass": "STANDARD_IA"})
    storage = resource_of(reached_like(theirs.document, ours.document)).spec.storage
    assert (storage.bucket, storage.secret_name) == ("elsewhere", "new")
    assert storage.endpoint == resource_of(ours.document).spec.storage.endpoint
    assert storage.encryption == resource_of(theirs.document).spec.storage.encryption, "that bucket may demand it"
    assert storage.storage_class is None
