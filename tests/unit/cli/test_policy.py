"""Policies and ACLs, as far as no server has to judge them."""

import pytest

from logpersister.cli.policy import iam_policy, kafka_acls, literal_prefix
from logpersister.manifest.secrets import Secrets
from tests.unit.manifest.documents import REMOVE, accepted

SHADOW = {"groupId": "shadow", "prefix": "shadows"}


@pytest.mark.parametrize(
    ("pattern", "prefix"),
    [
        (r"^web\.", "web."),
        (r"^web\.[a-z]+$", "web."),
        ("^clicks-2?", "clicks-"),
        ("^clicks_a+", "clicks_a"),
        ("^a|^b", ""),
        ("clicks", ""),
        (r"^\d+", ""),
        ("^", ""),
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


@pytest.mark.parametrize(("region", "partition"), [("cn-north-1", "aws-cn"), ("us-gov-west-1", "aws-us-gov")])
def test_names_are_those_of_the_regions_part_of_aws(region: str, partition: str) -> None:
    encryption = {"type": "KMS", "keyId": "1234abcd"}
    storage = {"bucket": "logs", "region": region, "encryption": encryption}
    read, *_, encrypt = iam_policy(accepted({"spec.storage": storage}))["Statement"]
    assert read["Resource"] == [f"arn:{partition}:s3:::logs"]
    assert encrypt["Resource"] == [f"arn:{partition}:kms:{region}:*:key/1234abcd"]


def test_acls_of_topics_patterns_and_shadows() -> None:
    common = ["kafka-acls", "--bootstrap-server", "broker-1:9092", "--add", "--allow-principal", "User:NAME"]
    common += ["--operation", "Read"]
    topics = ["clicks", "orders"]
    named = accepted({"spec.kafka.topics": topics, "spec.storage.prefix": "raw", "spec.rollout.shadow": SHADOW})
    assert kafka_acls(named, Secrets({})) == [
        [*common, "--operation", "DescribeConfigs", "--topic", "clicks", "--topic", "orders"],
        [*common, "--group", "clicks-backup"],
        [*common, "--group", "shadow.", "--resource-pattern-type", "prefixed"],
    ]
    anything = accepted({"spec.kafka.topics": REMOVE, "spec.kafka.topicPattern": "clicks"})
    assert kafka_acls(anything, Secrets({}))[0] == [*common, "--topic", "*"]
