"""The rights that a member needs: an IAM policy for the bucket, and Kafka's ACLs. Exactly these, and no others."""

import json
import shlex
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, Final

from logpersister.forms.problems import ManifestError
from logpersister.group.replay_group import replay_group
from logpersister.kafka_client import secret_keys
from logpersister.manifest import LogPersister
from logpersister.manifest.blocks.finish import ARCHIVE
from logpersister.manifest.blocks.kafka import KafkaSpec
from logpersister.manifest.blocks.storage import StorageSpec
from logpersister.manifest.blocks.table import GENERATION, GLUE_ID, TOPIC
from logpersister.manifest.secrets import Secrets
from logpersister.records.escaping import ARCHIVES
from logpersister.storage import names

Document = dict[str, Any]

_META: Final = frozenset(".^$*+?{}[]()|")
_MAY_BE_ABSENT: Final = frozenset("*?{")
_AWS_PARTITIONS: Final = {"cn-": "aws-cn", "us-gov-": "aws-us-gov"}


def write(resource: LogPersister, secrets: Secrets, *, as_json: bool) -> str:
    """Return both as text for people and shells, or as one JSON document."""
    policy, acls = iam_policy(resource), kafka_acls(resource, secrets)
    if as_json:
        return json.dumps({"iamPolicy": policy, "kafkaAcls": [list(command) for command in acls]}) + "\n"
    parts = [f"# IAM policy for {bucket_arn(resource.spec.storage)}", json.dumps(policy, indent=2)]
    parts += ["", "# ACLs; add --command-config for an administrator's login", *map(shlex.join, acls)]
    return "\n".join(parts) + "\n"


def bucket_arn(storage: StorageSpec) -> str:
    """Return the name of the bucket in policies."""
    return f"arn:{_aws_partition(storage.region)}:s3:::{storage.bucket}"


def _aws_partition(region: str | None) -> str:
    return next((name for prefix, name in _AWS_PARTITIONS.items() if (region or "").startswith(prefix)), "aws")


def iam_policy(resource: LogPersister) -> Document:
    """Return the policy of the role or the keys that members use."""
    storage, shadow = resource.spec.storage, resource.spec.rollout.shadow
    finish = resource.spec.finish
    makes_archives = finish is not None and ARCHIVE in finish.policy
    prefixes = [storage.prefix, *([] if shadow is None else [f"{shadow.prefix}/*"])]
    statements = _bucket_statements(storage, prefixes, makes_archives=makes_archives)
    for number, copy in enumerate(storage.copies, 1):
        of_copy = [*_bucket_statements(copy, [copy.prefix], makes_archives=True), *_key_statements(copy)]
        statements += [{**one, "Sid": f"{one['Sid']}Copy{number}"} for one in of_copy]
    more = [*_key_statements(storage), *_registry_statements(resource), *_glue_statements(resource)]
    return {"Version": "2012-10-17", "Statement": [*statements, *more]}


def _bucket_statements(storage: StorageSpec, prefixes: Sequence[str], *, makes_archives: bool) -> list[Document]:
    bucket = bucket_arn(storage)
    return [
        {
            # No condition on s3:prefix: without the right to list, S3 answers 403 and not 404 to who asks for an object
            # that is not there, and that question names no prefix.
            "Sid": "List",
            "Effect": "Allow",
            "Action": ["s3:ListBucket", "s3:ListBucketMultipartUploads"],
            "Resource": [bucket],
        },
        {
            "Sid": "ReadAndWrite",
            "Effect": "Allow",
            "Action": [
                *["s3:GetObject", "s3:PutObject", "s3:AbortMultipartUpload"],
                *([] if storage.acl is None else ["s3:PutObjectAcl"]),
            ],
            "Resource": [f"{bucket}/{names.head(prefix)}*" for prefix in prefixes],
        },
        {
            # Objects of records are never deleted: only a probe, facts of attempts that failed, and old archives.
            "Sid": "DeleteOwnDocuments",
            "Effect": "Allow",
            "Action": ["s3:DeleteObject"],
            "Resource": [
                *(f"{bucket}/{names.groups_prefix(prefix)}*" for prefix in prefixes),
                *(f"{bucket}/{names.head(prefix)}*/{ARCHIVES}/*" for prefix in prefixes if makes_archives),
            ],
        },
    ]


def _registry_statements(resource: LogPersister) -> Iterator[Document]:
    """Yield the right to read schemas of AWS Glue, which is one for all of an account: ids name no registry."""
    specs = [*resource.spec.variants(), *resource.spec.shapes()]
    registries = [one.row_schema.registry for one in specs]
    if any(one is not None and one.glue is not None for one in registries):
        yield {"Sid": "ReadSchemas", "Effect": "Allow", "Action": ["glue:GetSchemaVersion"], "Resource": ["*"]}


def _key_statements(storage: StorageSpec) -> Iterator[Document]:
    """Yield the right to a KMS key that the manifest names; the account's own key for S3 needs none."""
    key = storage.encryption.key_id if storage.encryption is not None else None
    if key is None:
        return
    keys = f"arn:{_aws_partition(storage.region)}:kms:{storage.region or '*'}:*:key"
    statement: Document = {
        "Sid": "Encrypt",
        "Effect": "Allow",
        "Action": ["kms:GenerateDataKey", "kms:Decrypt"],
        "Resource": [key if key.startswith("arn:") else f"{keys}/{key}"],
    }
    if key.startswith("alias/"):
        statement["Resource"] = [f"{keys}/*"]
        statement["Condition"] = {"ForAnyValue:StringEquals": {"kms:ResourceAliases": key}}
    yield statement


def _glue_statements(resource: LogPersister) -> Iterator[Document]:
    """Yield the rights in Glue, and those to the metadata of Iceberg tables there."""
    spec, storage = resource.spec.table, resource.spec.storage
    if spec is None or spec.catalog.type != "glue":
        return
    region, account = spec.catalog.region or storage.region, spec.catalog.properties.get(GLUE_ID, "*")
    named = dict.fromkeys(one.table.name for one in resource.spec.variants() if one.table is not None)
    tables = [tuple(map(_wildcard, name.lower().split("."))) for name in named]
    glue = f"arn:{_aws_partition(region)}:glue:{region or '*'}:{account}"
    actions = ["GetTable", "UpdateTable", "GetDatabase"]
    actions += ["CreateTable", "CreateDatabase"] if spec.create else []
    actions += ["BatchCreatePartition", "GetPartitions"] if spec.format == "hive" else []
    yield {
        "Sid": "Tables",
        "Effect": "Allow",
        "Action": [f"glue:{action}" for action in actions],
        "Resource": [
            f"{glue}:catalog",
            *dict.fromkeys(f"{glue}:database/{database}" for database, _ in tables),
            *(f"{glue}:table/{database}/{name}" for database, name in tables),
        ],
    }
    if spec.format == "iceberg" and spec.catalog.warehouse is not None:
        bucket, _, folder = spec.catalog.warehouse.partition("://")[2].partition("/")
        metadata = f"arn:{_aws_partition(storage.region)}:s3:::{bucket}/{names.head(folder)}"
        yield {
            "Sid": "TableMetadata",
            "Effect": "Allow",
            "Action": ["s3:GetObject", "s3:PutObject"],
            "Resource": [f"{metadata}{database}.db/{name}/*" for database, name in tables],
        }


def _wildcard(part: str) -> str:
    """Return a part of the name of a table as policies have it."""
    return part.replace(TOPIC, "*").replace(GENERATION, "*")


def kafka_acls(resource: LogPersister, secrets: Secrets) -> list[Sequence[str]]:
    """Return the commands of Kafka's own tool that allow members what they do.

    They read the topics, are in the group and in those of its replays, and write to the topic that is told of finished
    folders.
    """
    kafka, shadow = resource.spec.kafka, resource.spec.rollout.shadow
    head = ["kafka-acls", "--bootstrap-server", ",".join(map(str, kafka.addresses)), "--add"]
    head += ["--allow-principal", f"User:{_user(kafka, secrets)}", "--operation", "Read"]
    # A shadow asks whether a topic is compacted, to know which differences compaction explains.
    more = ["--operation", "DescribeConfigs"] if shadow is not None else []
    commands: list[Sequence[str]] = [[*head, *more, *resources] for resources in _topics(kafka)]
    commands.append([*head, "--group", resource.group_id])
    commands.append([*head, "--group", replay_group(resource.group_id, ""), "--resource-pattern-type", "prefixed"])
    told = None if resource.spec.finish is None else resource.spec.finish.kafka
    if told is not None:
        commands.append([*head[:-1], "Write", "--topic", told.topic])
    if shadow is not None:
        commands.append([*head, "--group", f"{shadow.group_id}.", "--resource-pattern-type", "prefixed"])
    return commands


def _topics(kafka: KafkaSpec) -> Iterator[Sequence[str]]:
    if kafka.topics is not None:
        yield [word for topic in kafka.topics for word in ("--topic", topic)]
        return
    prefix = literal_prefix(kafka.topic_pattern or "")
    yield ["--topic", prefix, "--resource-pattern-type", "prefixed"] if prefix else ["--topic", "*"]


def literal_prefix(pattern: str) -> str:
    """Return what the names of all topics that match a pattern begin with; empty when that is not plain to see."""
    if not pattern.startswith("^") or "|" in pattern:
        return ""
    prefix, rest = "", pattern[1:]
    while rest:
        escaped = rest.startswith("\\")
        if rest[0] in _META or (escaped and rest[1:2].isalnum()):
            break
        literal, rest = (rest[1:2], rest[2:]) if escaped else (rest[0], rest[1:])
        if rest[:1] in _MAY_BE_ABSENT and rest:
            break
        prefix += literal
    return prefix


def _user(kafka: KafkaSpec, secrets: Secrets) -> str:
    """Return who logs in, as far as the Secret tells: certificates and tokens name users by rules of the broker."""
    if kafka.security.secret_name is not None and kafka.security.mechanism not in (None, "OAUTHBEARER"):
        with suppress(ManifestError):  # the policy can be printed before there is a Secret
            return secret_keys.login(kafka.security.secret_name, secrets).user.reveal()
    return "NAME"
