"""The definition of LogReplay."""

from typing import Final

from logpersister.manifest.log_replay import LogReplay
from logpersister_operator.cluster.kinds import LOG_REPLAY
from logpersister_operator.crd.document import Definition, column, condition, schema_of
from logpersister_operator.crd.replay_status import ReplayStatus
from logpersister_operator.crd.structural import with_rules_for_patterns

_COLUMNS: Final = (
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

DEFINITION: Final = Definition(LOG_REPLAY, "lr", with_rules_for_patterns(schema_of(LogReplay, ReplayStatus)), _COLUMNS)
