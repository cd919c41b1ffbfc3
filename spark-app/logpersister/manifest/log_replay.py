"""The LogReplay resource: what of a LogPersister is stored again, from where, and what then becomes of it."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Annotated, Literal

from pydantic import Field

from logpersister.forms.constraint import Duration, Flag, Model, Size, Text, Unique, Whole, must
from logpersister.forms.problems import Finding
from logpersister.forms.rule import exactly_one, refuses, unchanged
from logpersister.manifest.blocks.kafka import GroupId, TopicName
from logpersister.manifest.blocks.storage import StorageSpec
from logpersister.manifest.kubernetes_resource import KubernetesResource, Name


def _is_a_day(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


Moment = Annotated[
    str,
    Text(
        r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,3})?(Z|[+-][0-9]{2}:[0-9]{2})$",
        "is not a time with its zone",
        "write for example 2026-11-21T05:00:00Z",
        29,
        conditions=(must(_is_a_day, "is no day or time that there is", "correct it"),),
    ),
]


class KafkaSource(Model):
    """Kafka alone."""


class BackupPlace(Model):
    """Where a backup is: exactly one of `resource` and `storage`."""

    resource: Name | None = None
    """LogPersister of the same namespace that stores the backup."""

    storage: StorageSpec | None = None
    """Bucket of a backup, of format `kafka`, that no resource here stores; with `group`."""

    group: GroupId | None = None
    """Consumer group that stored the backup in `storage`."""

    _one_place_is_named = exactly_one("resource", "storage")

    @refuses
    def _a_bucket_has_backups_of_groups(self) -> Iterator[Finding]:
        if self.storage is not None and self.group is None:
            yield Finding("is needed with storage: a bucket may have backups of several groups", "name it", ("group",))
        if self.resource is not None and self.group is not None:
            yield Finding("contradicts resource, whose group is known", "remove it", ("group",))


class SourceSpec(Model):
    """Where records come from: exactly one of `kafka`, `backup` and `auto`. All give the same objects."""

    kafka: KafkaSource | None = None
    """Kafka alone."""

    backup: BackupPlace | None = None
    """The backup alone, which spares the brokers."""

    auto: BackupPlace | None = None
    """Kafka, and the backup for what Kafka has deleted."""

    _one_source_is_named = exactly_one("kafka", "backup", "auto")

    @property
    def place(self) -> BackupPlace | None:
        """The backup that is read, if one is."""
        return self.backup or self.auto


class DeleteOldSpec(Model):
    """Old objects are deleted; nobody can go back to them then."""

    after: Annotated[timedelta, Duration("0s", "365d")] = timedelta(days=7)
    """Time from the switch to the deletion, in which one may still go back."""


class SwitchSpec(Model):
    """Readers are switched to the replay once all of it is stored."""

    delete_old: DeleteOldSpec | None = None
    """Deletes the objects that the replay has replaced. Default: they stay."""


class ReplaySpec(Model):
    """What is stored again."""

    resource: Name
    """LogPersister of the same namespace. Its spec, as it is when the replay is planned, says how records are stored
    again: correct it first."""

    generation: Annotated[int, Whole(2, 2**31 - 1)]
    """Generation of the new objects: higher than that of the resource, and of no other replay."""

    source: SourceSpec = SourceSpec(kafka=KafkaSource())
    """Where records come from. Default: `kafka: {}`."""

    topics: Annotated[tuple[TopicName, ...], Field(min_length=1, max_length=100), Unique()] | None = None
    """These topics only. Default: all of the resource."""

    since: Moment | None = Field(default=None, alias="from")
    """Records of this time and later ones. Default: all that the source has."""

    until: Moment | None = Field(default=None, alias="to")
    """Records before this time. Default: all that the resource has stored."""

    max_bytes_per_second: Annotated[int, Size("64Ki", "1Ti")] | None = None
    """Bytes of records, uncompressed, that all processes together read in a second. Default: any."""

    processes: Annotated[int, Whole(1, 100)] = 1
    """Processes that share the work by partitions."""

    suspend: Flag = False
    """Whether the replay pauses. It goes on where it was."""

    switch: SwitchSpec | None = None
    """What happens once all is stored. Default: nothing, and readers are switched by setting this, or by
    `logpersister switch`."""

    _resource_stays = unchanged("resource")
    _generation_stays = unchanged("generation")
    _source_stays = unchanged("source", optional=True)
    _topics_stay = unchanged("topics", optional=True)
    _from_stays = unchanged("from", optional=True)
    _to_stays = unchanged("to", optional=True)
    _rate_stays = unchanged("maxBytesPerSecond", optional=True)

    @refuses
    def _times_are_in_order(self) -> Iterator[Finding]:
        if self.since is not None and self.until is not None:
            since, until = map(datetime.fromisoformat, (self.since, self.until))
            if since >= until:
                yield Finding("is not before to", "exchange them, or correct one", ("from",))


class LogReplay(KubernetesResource):
    """History of a LogPersister that is stored again beside it, once, as a Job does its work."""

    kind: Literal["LogReplay"]
    """Kind of the resource."""

    spec: ReplaySpec
    """What is stored again."""
