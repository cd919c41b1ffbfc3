"""What `init` writes is read back as what it found, by our reader and by one of YAML 1.1."""

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from logpersister.cli.manifest_text import Answers, default_name, scalar, write
from logpersister.cli.survey import TopicSize
from logpersister.manifest import parse_text
from tests.examples import examples
from tests.unit.manifest.documents import accepted

STORAGE = {
    "bucket": "logs",
    "prefix": "raw",
    "endpoint": "http://127.0.0.1:9000",
    "region": "us-east-1",
    "secretName": "s3",
}


def test_a_manifest_as_a_person_would_write_it() -> None:
    resource = accepted(
        {
            "spec.kafka": {"bootstrapServers": "b:1", "topicPattern": "."},
            "spec.storage": {**STORAGE, "secretName": "s3"},
        }
    )
    sizes = {"orders": TopicSize(3, 0, None), "clicks": TopicSize(4, 35_000, 12_900_000)}
    assert (
        write(Answers(resource, 1, sizes))
        == """\
# Written by `logpersister init` from what brokers and bucket answered. All fields: docs/manifest.md
apiVersion: logpersister.dev/v1alpha1
kind: LogPersister
metadata:
  name: clicks-backup                     # also the consumer group, whose offsets are the progress
spec:
  kafka:
    bootstrapServers: "b:1"               # 1 broker
    topics:                               # by name; with topicPattern new topics join by themselves
      - clicks                            # 4 partitions, about 35,000 records, 12.3 MiB
      - orders                            # 3 partitions, no records
    startFrom: earliest                   # or latest, or a time such as 2026-11-21T00:00:00Z
  storage:
    bucket: logs
    prefix: raw                           # the folder of everything that is stored
    endpoint: "http://127.0.0.1:9000"
    region: us-east-1
    secretName: s3                        # outside of Kubernetes $LOGPERSISTER_SECRET_S3_AWS_ACCESS_KEY_ID, …, or files
  output:
    text: {compression: gzip}             # values only, one a line; jsonl and sequencefile keep keys and offsets, too
    partitionBy:
      - date: {granularity: day}          # folders such as dt=2026-11-21, by the record's timestamp, in UTC
  upload:
    maxBytes: 256Mi                       # an object is written when about this much has gathered,
    maxAge: 15m                           # or when its oldest record is this old
"""
    )


SECURITY = {"protocol": "SASL_SSL", "mechanism": "SCRAM-SHA-512", "secretName": "kafka-login"}


@pytest.mark.parametrize("kafka", [{"topicPattern": "^web[$]{2}\\${0}"}, {"topics": ["on", "1.5", "a", "x" * 249]}])
@pytest.mark.parametrize("security", [{}, {"protocol": "SSL"}, SECURITY])
def test_what_was_asked_for_is_in_it(kafka: dict[str, Any], security: dict[str, Any]) -> None:
    changes = {"bootstrapServers": "b:1, c:2", **kafka, "security": security}
    resource = accepted({"spec.kafka": changes, "spec.storage": {"bucket": "logs"}})
    text = write(Answers(resource, 3, {"a": TopicSize(1, None, None)}, by_pattern="topicPattern" in kafka))
    found = parse_text(text, None, {})
    assert found.spec.kafka == resource.spec.kafka
    assert found.spec.storage == resource.spec.storage
    assert ("does not exist yet" in text) is ("topics" in kafka)


@examples(200)
@given(st.text(max_size=30) | st.sampled_from(["on", "No", "null", "1e3", "0x1f", "~", "12:30", "${A}", "$${A}"]))
def test_a_scalar_is_read_back_by_any_reader(text: str) -> None:
    if all(character.isprintable() for character in text):
        assert yaml.safe_load(f"a: {scalar(text)}") == {"a": text.replace("${", "$${")}


@pytest.mark.parametrize(
    ("topics", "bucket", "name"),
    [
        (["Web.Clicks_2"], "logs", "web-clicks-2-backup"),
        (["a", "b"], "my.logs", "my-logs-backup"),
        (None, "2026-logs", "backup-2026-logs"),
        (["_"], "logs", "backup"),
        (["x" * 249], "logs", "x" * 32 + "-backup"),
    ],
)
def test_names_are_those_of_resources(topics: list[str] | None, bucket: str, name: str) -> None:
    assert default_name(topics, bucket) == name
    accepted({"metadata.name": name})
