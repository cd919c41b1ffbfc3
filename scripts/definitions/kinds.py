"""The definitions of all kinds of our resources."""

from collections.abc import Collection
from typing import Final

from definitions.document import Definition, column, condition, schema_of, without
from definitions.structural import Schema, everywhere, with_rules_for_patterns
from logpersister.forms.rule import VALIDATIONS
from logpersister.manifest import FeedCollector, LogPersister
from logpersister.manifest.log_replay import LogReplay
from logpersister_operator.cluster.kinds import FEED_COLLECTOR, LOG_REPLAY, LOGPERSISTER
from logpersister_operator.crd.replay_status import ReplayStatus
from logpersister_operator.crd.status import Status
from logpersister_operator.crd.status_collector import CollectorStatus

_BLOCKS: Final = frozenset({"value", "key", "quarantine", "output", "keep"})
"""Blocks of spec that entries of overrides and types replace."""
_SAID_BEFORE: Final = frozenset({"description", "pattern", VALIDATIONS})
"""What entries of overrides and types leave to the fields of spec: `kubectl apply` refuses unknown fields and words."""


def _of_logpersister() -> Schema:
    schema = schema_of(LogPersister, Status)
    fields = schema["properties"]["spec"]["properties"]
    for entry in (fields["overrides"]["items"], fields["types"]["properties"]["entries"]["items"]):
        _shorten(entry["properties"])
    for name in ("value", "key", "output"):
        fields[name] = everywhere(fields[name], _without_words)
    for block in (fields["value"], fields["key"]):
        for kind in ("avro", "protobuf", "thrift", "messagepack", "csv", "regex"):
            _described_before(block["properties"].get(kind, {}).get("properties", {}))
    return with_rules_for_patterns(schema)


def _shorten(entry: Schema) -> None:
    """Leave out what the fields of spec say already: descriptions, and the forms of texts, which the operator checks.

    The API server adds up what rules may cost at most, which is too much in each entry of a list of lists; and
    ``kubectl apply`` keeps a copy of a definition in an annotation, whose size is limited.
    """
    for name in _BLOCKS & entry.keys():
        said = f"{entry[name]['description']} Fields: those of spec.{name}."
        entry[name] = {"description": said} | _stripped(entry[name], _SAID_BEFORE)


def _described_before(kind: Schema) -> None:
    """Leave out descriptions of what `spec.value.json` describes."""
    for name in {"fields", "faults"} & kind.keys():
        said = kind[name]["description"]
        kind[name] = {"description": said} | _stripped(kind[name], {"description"})


def _without_words(schema: Schema) -> Schema:
    """Leave the forms of texts to their patterns: rules of CEL for all of them would cost too much."""
    return without(schema, {VALIDATIONS}) if "pattern" in schema or schema.get("type") == "integer" else schema


def _stripped(schema: Schema, names: Collection[str]) -> Schema:
    return everywhere(schema, lambda one: without(one, names))


_LOGPERSISTER_COLUMNS: Final = (
    column("Ready", condition("Ready"), text="Whether all members run as the spec wants."),
    column("Storing", condition("UploadsSucceeding"), text="Whether uploads succeed."),
    column("Gen", ".status.generation", "integer", text="Generation that is being written."),
    column("Members", ".status.summary.members", text="Ready and desired members; behind +, ready old ones."),
    column("Lag", ".status.summary.lag", text="Records not yet stored."),
    column("Lag age", ".status.summary.lagAge", text="Age of the oldest record not yet stored."),
    column("Uploaded", ".status.summary.uploaded", text="Size of the stored objects."),
    column("Failures", ".status.uploads.failures", "integer", text="Ranges that failed and were tried again."),
    column("State", ".status.summary.state", text="What is going on."),
    column("Age", ".metadata.creationTimestamp", "date", text="Age of the resource."),
    column("Reason", condition("Ready", "reason"), wide=True, text="Why it is ready or not."),
    column("Group", ".status.groupId", wide=True, text="Consumer group in Kafka."),
    column("Revision", ".status.revision", wide=True, text="Revision that members run."),
    column("Rebalance", ".status.rebalance.state", wide=True, text="State of the group in Kafka."),
    column("Last upload", ".status.uploads.last", "date", wide=True, text="When an object was stored last."),
    column("Stalest type", ".status.summary.stalestType", wide=True, text="Type without new records for longest."),
    column("Bucket", ".spec.storage.bucket", wide=True, text="Where objects go."),
    column("Prefix", ".spec.storage.prefix", wide=True, text="Folder of the bucket."),
)

LOGPERSISTERS: Final = Definition(LOGPERSISTER, "lp", _of_logpersister(), _LOGPERSISTER_COLUMNS)


def _of_collector() -> Schema:
    """Return the schema. Texts of feeds are left to their patterns: rules for each of so many would cost too much."""
    schema = schema_of(FeedCollector, CollectorStatus)
    feeds = schema["properties"]["spec"]["properties"]["feeds"]
    feeds["items"] = everywhere(feeds["items"], lambda one: without(one, {VALIDATIONS}))
    return with_rules_for_patterns(schema)


_COLLECTOR_COLUMNS: Final = (
    column("Ready", condition("Ready"), text="Whether all replicas run as the spec wants."),
    column("Speaking", condition("FeedsSpeaking"), text="Whether no feed is silent."),
    column("Kafka", condition("KafkaReachable"), text="Whether records reach Kafka."),
    column("Replicas", ".status.summary.replicas", text="Ready and desired replicas."),
    column("Feeds", ".status.feeds.total", "integer", text="Number of feeds."),
    column("Silent", ".status.feeds.silent", "integer", text="Feeds that give nothing new."),
    column("Failing", ".status.feeds.failing", "integer", text="Feeds whose last poll failed."),
    column("Spool", ".status.summary.spool", text="Size of what waits for Kafka."),
    column("State", ".status.summary.state", text="What is going on."),
    column("Age", ".metadata.creationTimestamp", "date", text="Age of the resource."),
    column("Topic", ".spec.kafka.topic", wide=True, text="Where records go."),
    column("Worst", ".status.feeds.worst[0].id", wide=True, text="A feed that is silent or fails."),
    column("Revision", ".status.revision", wide=True, text="Present feeds and settings."),
)

_FEED_COLLECTORS: Final = Definition(FEED_COLLECTOR, "fc", _of_collector(), _COLLECTOR_COLUMNS)

_REPLAY_COLUMNS: Final = (
    column("Resource", ".spec.resource", text="LogPersister that is stored again."),
    column("Gen", ".spec.generation", "integer", text="Generation of the new objects."),
    column("Phase", ".status.phase", text="Where the replay is."),
    column("Progress", ".status.summary.progress", text="Share of the offsets that are stored."),
    column("Rate", ".status.summary.rate", text="Bytes of objects in a second."),
    column("Left", ".status.summary.left", text="Time until all will be stored."),
    column("Age", ".metadata.creationTimestamp", "date", text="Age of the resource."),
    column("State", ".status.summary.state", wide=True, text="What is going on, or in the way."),
    column("Reason", condition("Ready", "reason"), wide=True, text="Why it is done or not."),
    column("Group", ".status.groupId", wide=True, text="Consumer group in Kafka that keeps the progress."),
)

_LOG_REPLAYS: Final = Definition(
    LOG_REPLAY, "lr", with_rules_for_patterns(schema_of(LogReplay, ReplayStatus)), _REPLAY_COLUMNS
)

DEFINITIONS: Final = (LOGPERSISTERS, _FEED_COLLECTORS, _LOG_REPLAYS)
"""A CustomResourceDefinition of each kind."""
