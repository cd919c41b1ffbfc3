"""Policies and ACLs, as far as no server has to judge them."""

from pathlib import Path

import pytest
import yaml

from logpersister.cli.policy import iam_policy, kafka_acls, literal_prefix
from logpersister.manifest import parse
from logpersister.manifest.secrets import Secrets, variable_name
from tests.stack import strimzi
from tests.unit.manifest.documents import REMOVE, accepted

SHADOW = {"groupId": "shadow", "prefix": "shadows"}
STRIMZI = sorted((Path(__file__).parents[3] / "examples" / "strimzi").glob("*.yaml"))


@pytest.mark.parametrize(
    ("pattern", "prefix"),
    [
        (r"^web\.", "web."),
        ("^clicks-2?", "clicks-"),
        ("^a|^b", ""),
        ("clicks", ""),
        (r"^\d+", ""),
    ],
)
def test_what_all_topics_of_a_pattern_begin_with(pattern: str, prefix: str) -> None:
    assert literal_prefix(pattern) == prefix


@pytest.mark.parametrize("key", ["1234abcd-12ab-34cd-56ef-1234567890ab", "alias/logs"])
def test_shadows_and_keys_are_in_the_policy(key: str) -> None:
    encryption = {"type": "KMS", "keyId": key}
    storage = {"bucket": "logs", "prefix": "raw", "region": "eu-central-1", "encryption": encryption}
    resource = accepted({"spec.storage": storage, "spec.rollout.shadow": SHADOW})
    _, write, delete, encrypt = iam_policy(resource)["Statement"]
    assert write["Resource"] == ["arn:aws:s3:::logs/raw/*", "arn:aws:s3:::logs/shadows/*/*"]
    assert delete["Resource"] == [
        "arn:aws:s3:::logs/raw/_logpersister/*",
        "arn:aws:s3:::logs/shadows/*/_logpersister/*",
    ]
    named = "*" if key.startswith("alias/") else key
    assert encrypt["Resource"] == [f"arn:aws:kms:eu-central-1:*:key/{named}"]
    assert ("Condition" in encrypt) is key.startswith("alias/")


def test_members_write_to_copies() -> None:
    copy = {"bucket": "far", "prefix": "kept", "region": "cn-north-1", "encryption": {"type": "KMS", "keyId": "k"}}
    resource = accepted(
        {
            "spec.output": {"archive": {}, "partitionBy": [{"date": {"granularity": "hour"}}]},
            "spec.finish": {"policy": ["archive"]},
            "spec.storage.copies": [{"bucket": "near"}, copy],
        }
    )
    statements = {one["Sid"]: one for one in iam_policy(resource)["Statement"]}
    assert len(statements) == 3 * 3 + 1
    assert statements["ListCopy1"]["Resource"] == ["arn:aws:s3:::near"]
    assert statements["ReadAndWriteCopy2"]["Resource"] == ["arn:aws-cn:s3:::far/kept/*"]
    assert "arn:aws-cn:s3:::far/kept/*/_archives/*" in statements["DeleteOwnDocumentsCopy2"]["Resource"]
    assert statements["EncryptCopy2"]["Resource"] == ["arn:aws-cn:kms:cn-north-1:*:key/k"]


def test_members_read_schemas_of_glue_wherever_a_manifest_names_it() -> None:
    columns = {"fields": [{"name": "id", "type": "int64"}], "registry": {"url": "glue://eu-central-1/clicks"}}
    of_avro = {"value": {"avro": columns}}
    expected = {"Sid": "ReadSchemas", "Effect": "Allow", "Action": ["glue:GetSchemaVersion"], "Resource": ["*"]}
    for changes in (
        {"spec.value": {"avro": columns}},
        {"spec.overrides": [{"topics": ["clicks"], **of_avro}]},
        {
            "spec.types": {
                "header": "type",
                "entries": [{"names": ["a"], **of_avro}, {"pattern": ".", "value": {"bytes": {}}}],
            },
        },
    ):  # fmt: skip
        assert iam_policy(accepted(changes))["Statement"][-1] == expected, changes
    columns["registry"] = {"url": "https://registry.example.com"}
    elsewhere = accepted({"spec.value": {"avro": columns}})
    assert "ReadSchemas" not in [one["Sid"] for one in iam_policy(elsewhere)["Statement"]]


def test_acls_of_topics_patterns_and_shadows() -> None:
    common = ["kafka-acls", "--bootstrap-server", "broker-1:9092", "--add", "--allow-principal", "User:NAME"]
    common += ["--operation", "Read"]
    topics = ["clicks", "orders"]
    named = accepted({"spec.kafka.topics": topics, "spec.storage.prefix": "raw", "spec.rollout.shadow": SHADOW})
    assert kafka_acls(named, Secrets({})) == [
        [*common, "--operation", "DescribeConfigs", "--topic", "clicks", "--topic", "orders"],
        [*common, "--group", "clicks-backup"],
        [*common, "--group", "clicks-backup-replay-", "--resource-pattern-type", "prefixed"],
        [*common, "--group", "shadow.", "--resource-pattern-type", "prefixed"],
    ]
    told = accepted(
        {
            "spec.finish": {"policy": ["kafka"], "kafka": {"topic": "told"}},
            "spec.output.partitionBy": [{"date": {"granularity": "day"}}],
        }
    )
    assert kafka_acls(told, Secrets({}))[-1] == [*common[:-1], "Write", "--topic", "told"]
    anything = accepted({"spec.kafka.topics": REMOVE, "spec.kafka.topicPattern": "clicks"})
    assert kafka_acls(anything, Secrets({}))[0] == [*common, "--topic", "*"]


@pytest.mark.parametrize("example", STRIMZI, ids=lambda path: path.stem)
def test_users_of_strimzi_in_the_examples_have_these_rights(example: Path) -> None:
    user, manifest = yaml.safe_load_all(example.read_text())
    resource = parse(manifest)
    name = user["metadata"]["name"]
    secret = strimzi.scram_user(name, "password")
    secrets = Secrets({variable_name(name, key): value.decode() for key, value in secret.items()})
    is_scram = user["spec"]["authentication"]["type"] == "scram-sha-512"

    asked = {
        (acl["resource"]["type"], acl["resource"]["name"], tuple(acl["operations"]))
        for acl in user["spec"]["authorization"]["acls"]
    }

    given = set()
    for command in kafka_acls(resource, secrets):
        principal, operation, kind, of = (command[number] for number in (5, 7, 8, 9))
        assert principal == f"User:{name if is_scram else 'NAME'}"
        given.add((kind.removeprefix("--"), of, (operation,)))
    assert given == asked
    assert resource.spec.kafka.security.secret_name == name


@pytest.mark.parametrize("table_format", ["hive", "iceberg"])
@pytest.mark.parametrize("create", [True, False])
def test_rights_in_glue_are_those_of_its_tables(table_format: str, create: bool) -> None:
    catalog = {"type": "glue", "region": "cn-north-1", "warehouse": "s3://lake/tables", "properties": {"glue.id": "12"}}
    table = {"format": table_format, "catalog": catalog, "name": "Lake_{generation}.{topic}", "create": create}
    changes = {"spec.output": {"parquet": {}}, "spec.table": table}
    *_, found = iam_policy(accepted(changes | {"spec.kafka.topics": ["clicks", "orders"]}))["Statement"]
    if table_format == "iceberg":
        assert found["Resource"] == ["arn:aws:s3:::lake/tables/lake_*.db/*/*"]
        *_, found, _ = iam_policy(accepted(changes | {"spec.kafka.topics": ["clicks", "orders"]}))["Statement"]
    glue = "arn:aws-cn:glue:cn-north-1:12"
    assert found["Resource"] == [f"{glue}:catalog", f"{glue}:database/lake_*", f"{glue}:table/lake_*/*"]
    renamed = {"spec.kafka.topics": ["a"], "spec.overrides": [{"topics": ["a"], "table": {"name": "Lake.of_a"}}]}
    of_both = str(iam_policy(accepted(changes | renamed)))
    assert all(
        one in of_both for one in (f"{glue}:table/lake_*/*", f"{glue}:database/lake'", f"{glue}:table/lake/of_a")
    )
    assert ("glue:CreateTable" in found["Action"]) is create
    assert ("glue:BatchCreatePartition" in found["Action"]) is (table_format == "hive")
