"""Rules between sections of a spec: what finished folders, record batches that stay whole, and overrides need."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from logpersister.forms.problems import Finding, path_text
from logpersister.forms.rule import refuses, rules_of
from logpersister.manifest.blocks.finish import date_levels, has_time_folders
from logpersister.manifest.blocks.overrides import Override
from logpersister.manifest.blocks.table import ONE_FOR_SEVERAL
from logpersister.manifest.rules.sections import Sections

_VERBATIM: Final = "stores record batches as they are, and their records are neither parsed nor told apart"


class SectionRules(Sections):
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
    def _copies_are_of_archives(self) -> Iterator[Finding]:
        if not self.storage.copies:
            return
        if self.finish is None or "archive" not in self.finish.policy:
            told = "get archives of finished folders, but spec.finish makes none"
            yield Finding(told, "add archive to spec.finish.policy, or remove them", ("storage", "copies"))
        elif self.finish.outer_levels:
            told = "puts files of days when their hours are over, which may be before the copies have these"
            yield Finding(told, "remove it, or spec.storage.copies", ("finish", "outerLevels"))

    @refuses
    def _late_records_keep_their_values(self) -> Iterator[Finding]:
        if self.quarantines_late and not self.keeps_refused_values:
            told = "puts records into quarantine that are good, but their values would not be stored there"
            remedy = (
                "set it to folder; or spec.quarantine.keepValue to true if readers of quarantine may see all fields"
            )
            yield Finding(told, remedy, ("finish", "late"), '"quarantine"')

    @refuses
    def _record_batches_stay_whole(self) -> Iterator[Finding]:
        if self.output.kafka is not None:
            is_parsed = self.value.kind != "bytes" or self.types is not None
            if is_parsed or self.output.partition_by or self.leaves_out or self.table:
                remedy = "remove output.partitionBy, value, keep, types and table, or choose another format"
                yield Finding(_VERBATIM, remedy, ("output", "kafka"))
        elif self.types is not None and any(one.output.kafka is not None for one in self.of_types()):
            yield Finding(f"have an output that {_VERBATIM}", "choose another format for the types", ("types",))

    @refuses
    def _overrides_name_topics_of_the_group(self) -> Iterator[Finding]:
        for place, one in enumerate(self.overrides):
            if one.table is not None and self.table is None:
                told = "names a table, and there is no spec.table"
                yield Finding(told, "set spec.table, or remove the name", ("overrides", place, "table"))
            for number, topic in enumerate(one.topics or ()):
                at = ("overrides", place, "topics", number)
                before = self.override_of(topic)
                if not self.kafka.selects(topic):
                    yield Finding("is no topic that spec.kafka selects", "correct the name, or remove it here", at)
                elif before is not None and before < place:
                    told = f"is already named by spec.overrides[{before}], and the first entry applies"
                    yield Finding(told, "put this entry first, or remove the topic here", at)

    @refuses
    def _overrides_fit(self) -> Iterator[Finding]:
        if not self.overrides:
            return
        own, *others = ([one for of in rules_of(type(self)) for one in of.findings(spec)] for spec in self.variants())
        for place, (override, findings) in enumerate(zip(self.overrides, others, strict=True)):
            for finding in findings:
                is_of_table = override.table is not None and finding.expectation == ONE_FOR_SEVERAL
                if finding not in own and not is_of_table:
                    yield _of_override(place, override, finding)


def _of_override(place: int, override: Override, finding: Finding) -> Finding:
    at = ("overrides", place)
    if finding.at and finding.at[0] in override.blocks:
        return replace(finding, at=(*at, *finding.at))
    told = f"does not go together with {path_text(('spec', *finding.at))}, which then {finding.expectation}"
    return Finding(told, f"set {finding.at[0]} in this entry, too, or correct it: {finding.remedy}", at)
