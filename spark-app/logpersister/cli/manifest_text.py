"""A manifest as a person would write it, with comments, from what brokers and bucket have answered. Pure."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from logpersister.cli.survey import TopicSize
from logpersister.manifest import LogPersister
from logpersister.manifest.blocks.kafka import KafkaSpec
from logpersister.manifest.blocks.storage import StorageSpec
from logpersister.manifest.kubernetes_resource import API_VERSION
from logpersister.manifest.resource import KIND
from logpersister.manifest.secrets import variable_name
from logpersister.report.human import plural, size

Line = tuple[str, str]
"""A line of YAML, and the comment beside it."""

_COMMENT_COLUMN: Final = 41
_PLAIN: Final = re.compile(r"[A-Za-z][A-Za-z0-9._/-]*")
_NOT_TEXT: Final = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})
_LONGEST_BASIS: Final = 39 - len("-backup")
"""A resource's name has 39 characters at most."""


@dataclass(frozen=True, slots=True)
class Answers:
    """What was asked for, and what was found."""

    resource: LogPersister
    """Resource with its name and its sections on Kafka and the storage."""
    brokers: int
    topics: Mapping[str, TopicSize]
    missing: Sequence[str] = ()
    """Topics that were asked for and do not exist (yet)."""
    by_pattern: bool = False
    """Whether the pattern is to be in the manifest, not the topics that it matches."""


def default_name(topics: Sequence[str] | None, bucket: str) -> str:
    """Return a name for the resource, and so for its group: of the topic if it is one, else of the bucket."""
    basis = topics[0] if topics is not None and len(topics) == 1 else bucket
    slug = re.sub(r"[^a-z0-9]+", "-", basis.lower()).strip("-")[:_LONGEST_BASIS].strip("-")
    return f"{slug}-backup" if slug[:1].isalpha() else f"backup-{slug}".rstrip("-")


def write(answers: Answers) -> str:
    """Return the text of the manifest."""
    head = "# Written by `logpersister init` from what brokers and bucket answered. All fields: docs/manifest.md\n"
    lines = [
        (f"apiVersion: {API_VERSION}", ""),
        (f"kind: {KIND}", ""),
        ("metadata:", ""),
        (f"  name: {answers.resource.name}", "also the consumer group, whose offsets are the progress"),
        ("spec:", ""),
        *_kafka(answers),
        *_storage(answers.resource.spec.storage),
        ("  output:", ""),
        ("    text: {compression: gzip}", "values only, one a line; jsonl and sequencefile keep keys and offsets, too"),
        ("    partitionBy:", ""),
        ("      - date: {granularity: day}", "folders such as dt=2026-11-21, by the record's timestamp, in UTC"),
        ("  upload:", ""),
        ("    maxBytes: 256Mi", "an object is written when about this much has gathered,"),
        ("    maxAge: 15m", "or when its oldest record is this old"),
    ]
    return head + "".join(map(_written, lines))


def _written(line: Line) -> str:
    text, comment = line
    return f"{text:{_COMMENT_COLUMN}} # {comment}\n" if comment else f"{text}\n"


def _kafka(answers: Answers) -> Iterator[Line]:
    kafka = answers.resource.spec.kafka
    yield "  kafka:", ""
    yield f"    bootstrapServers: {scalar(kafka.bootstrap_servers)}", plural(answers.brokers, "broker")
    if answers.by_pattern:
        count = f"matches {plural(len(answers.topics), 'topic')} now; new ones that match join by themselves"
        yield f"    topicPattern: {scalar(kafka.topic_pattern or '')}", count
    else:
        yield "    topics:", "by name; with topicPattern new topics join by themselves"
        for topic in kafka.topics or sorted(answers.topics):
            found = answers.topics.get(topic)
            yield f"      - {scalar(topic)}", "does not exist yet" if found is None else size_text(found)
    yield "    startFrom: earliest", "or latest, or a time such as 2026-11-21T00:00:00Z"
    yield from _security(kafka)


def _security(kafka: KafkaSpec) -> Iterator[Line]:
    security = kafka.security
    if security.protocol == "PLAINTEXT":
        return
    yield "    security:", ""
    yield f"      protocol: {security.protocol}", ""
    if security.mechanism is not None:
        yield f"      mechanism: {security.mechanism}", ""
    if security.secret_name is not None:
        yield f"      secretName: {scalar(security.secret_name)}", "docs/manifest.md#secrets"
    if security.ca_secret_name is not None:
        yield f"      caSecretName: {scalar(security.ca_secret_name)}", ""


def _storage(storage: StorageSpec) -> Iterator[Line]:
    yield "  storage:", ""
    yield f"    bucket: {scalar(storage.bucket)}", ""
    if storage.prefix:
        yield f"    prefix: {scalar(storage.prefix)}", "the folder of everything that is stored"
    if storage.endpoint is not None:
        yield f"    endpoint: {scalar(storage.endpoint)}", ""
    if storage.region is not None:
        yield f"    region: {scalar(storage.region)}", ""
    if storage.secret_name is not None:
        variable = variable_name(storage.secret_name, "AWS_ACCESS_KEY_ID")
        yield f"    secretName: {scalar(storage.secret_name)}", f"outside of Kubernetes ${variable}, …, or files"
    if storage.ca_secret_name is not None:
        yield f"    caSecretName: {scalar(storage.ca_secret_name)}", ""


def size_text(found: TopicSize) -> str:
    """``4 partitions, about 35,000 records, 12.3 MiB``."""
    parts = [plural(found.partitions, "partition")]
    if found.offsets is not None:
        parts.append(f"about {plural(found.offsets, 'record')}" if found.offsets else "no records")
    if found.bytes is not None:
        parts.append(size(found.bytes))
    return ", ".join(parts)


def scalar(text: str) -> str:
    """Return a text as YAML of any version reads it back, also when variables are replaced in it."""
    if _PLAIN.fullmatch(text) and text.lower() not in _NOT_TEXT:
        return text
    return json.dumps(text.replace("${", "$${"), ensure_ascii=False)
