"""Rules about ``spec.finish``: what else of a spec finished folders need."""

from collections.abc import Iterator

from logpersister.forms.problems import Finding
from logpersister.forms.rule import refuses
from logpersister.manifest.blocks.finish import date_levels, has_time_folders
from logpersister.manifest.rules.sections import Sections


class FinishRules(Sections):
    """The rules, for a spec that has these fields."""

    @refuses
    def _finished_folders_are_by_time(self) -> Iterator[Finding]:
        if self.finish is None:
            return
        outputs = [one.output for variant in self.variants() for one in variant.stored_types()]
        by_date = [output.partition_by for output in outputs if date_levels(output.partition_by)]
        if not by_date or not all(map(has_time_folders, by_date)):
            told = "needs folders by time, but the levels by date of partitionBy name none"
            remedy = "let levels by date follow each other from day to minute, with one timezone and one field"
            yield Finding(told, f"{remedy}, or remove it", ("finish",))
        if self.finish.kafka is not None and self.kafka.selects(self.finish.kafka.topic):
            told = "is a topic that the group stores, so that it would tell of itself"
            remedy = "name a topic that spec.kafka does not select"
            yield Finding(told, remedy, ("finish", "kafka", "topic"))

    @refuses
    def _archives_are_made_of_archives(self) -> Iterator[Finding]:
        if self.finish is None or "archive" not in self.finish.policy:
            return
        dated = [one for one in self.variants() if date_levels(one.output.partition_by)]
        if self.types is not None or any(one.output.archive is None for one in dated):
            told = "makes one archive of a folder's archives, and other formats or types have none"
            yield Finding(told, "set spec.output.archive, or remove it", ("finish", "policy"), '"archive"')

    @refuses
    def _late_records_keep_their_values(self) -> Iterator[Finding]:
        if self.quarantines_late and not self.keeps_refused_values:
            told = "puts records into quarantine that are good, but their values would not be stored there"
            remedy = (
                "set it to folder; or spec.quarantine.keepValue to true if readers of quarantine may see all fields"
            )
            yield Finding(told, remedy, ("finish", "late"), '"quarantine"')
