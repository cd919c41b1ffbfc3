"""Rules about ``spec.finish``: what else of a spec finished folders need."""

from collections.abc import Sequence
from typing import Protocol

from logpersister.manifest.constraint import Model
from logpersister.manifest.finish import date_levels, has_time_folders
from logpersister.manifest.kafka import KafkaSpec
from logpersister.manifest.row_rules import HIDES_NOTHING
from logpersister.manifest.rule import NotInCel, rule
from logpersister.manifest.type_specs import Typed, stored_specs


class _Finish(Typed, Protocol):
    """Sections of a spec that finished folders depend on."""

    @property
    def kafka(self) -> KafkaSpec: ...

    def variants(self) -> Sequence[Typed]: ...

    @property
    def quarantines_late(self) -> bool: ...

    @property
    def keeps_refused_values(self) -> bool: ...


class FinishRules(Model):
    """The rules, for a spec that has these fields."""

    @rule(
        NotInCel("each level would have to be compared with its neighbours, and with those of overrides"),
        "needs folders by time, but the levels by date of partitionBy name none",
        "let levels by date follow each other from day to minute, with one timezone and one field, or remove it",
        "finish",
    )
    def _finished_folders_are_by_time(self: _Finish) -> bool:
        outputs = [one.output for variant in self.variants() for one in stored_specs(variant)]
        by_date = [output.partition_by for output in outputs if date_levels(output.partition_by)]
        return self.finish is None or (bool(by_date) and all(map(has_time_folders, by_date)))

    @rule(
        NotInCel("the API server cannot say whether a pattern in Python's syntax selects a topic"),
        "is a topic that the group stores, so that it would tell of itself",
        "name a topic that spec.kafka does not select",
        *("finish", "kafka", "topic"),
    )
    def _folders_are_told_to_another_topic(self: _Finish) -> bool:
        told = None if self.finish is None else self.finish.kafka
        return told is None or not self.kafka.selects(told.topic)

    @rule(
        "$finish.late != 'quarantine' || (has(self.parser) && has(self.parser.quarantine)"
        f" && has(self.parser.quarantine.keepValue) ? self.parser.quarantine.keepValue : {HIDES_NOTHING})",
        "puts records into quarantine that are good, but their values would not be stored there",
        "set it to folder; or spec.parser.quarantine.keepValue to true if readers of quarantine may see all fields",
        *("finish", "late"),
    )
    def _late_records_keep_their_values(self: _Finish) -> bool:
        return not self.quarantines_late or self.keeps_refused_values
