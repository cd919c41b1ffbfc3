"""The definition of FeedCollector."""

from typing import Final

from logpersister.forms.rule import VALIDATIONS
from logpersister.manifest import FeedCollector
from logpersister_operator.cluster.kinds import FEED_COLLECTOR
from logpersister_operator.crd.document import Definition, column, condition, schema_of, without
from logpersister_operator.crd.status_collector import CollectorStatus
from logpersister_operator.crd.structural import Schema, everywhere, with_rules_for_patterns


def _schema() -> Schema:
    """Return the schema. Texts of feeds are left to their patterns: rules for each of so many would cost too much."""
    schema = schema_of(FeedCollector, CollectorStatus)
    feeds = schema["properties"]["spec"]["properties"]["feeds"]
    feeds["items"] = everywhere(feeds["items"], lambda one: without(one, {VALIDATIONS}))
    return with_rules_for_patterns(schema)


_COLUMNS: Final = (
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

DEFINITION: Final = Definition(FEED_COLLECTOR, "fc", _schema(), _COLUMNS)
