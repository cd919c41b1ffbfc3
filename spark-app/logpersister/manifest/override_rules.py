"""Rules about ``spec.overrides``: whether entries name topics of the group, and fit to the rest of a spec."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from logpersister.manifest.constraint import Model
from logpersister.manifest.kafka import KafkaSpec
from logpersister.manifest.overrides import Override
from logpersister.manifest.problems import Finding, path_text
from logpersister.manifest.rule import NotInCel, rule, rules_of
from logpersister.manifest.table import ONE_FOR_SEVERAL, TableSpec
from logpersister.manifest.upload import UploadSpec


class _Overridden(Protocol):
    """Sections of a spec that its overrides depend on."""

    @property
    def kafka(self) -> KafkaSpec: ...

    @property
    def overrides(self) -> Sequence[Override]: ...

    @property
    def table(self) -> TableSpec | None: ...

    @property
    def upload(self) -> UploadSpec: ...

    def override_of(self, topic: str) -> int | None: ...

    def variants(self) -> Sequence[Model]: ...


class OverrideRules(Model):
    """The rules, for a spec that has these fields."""

    @rule(
        "!has(self.overrides) || has(self.table) || self.overrides.all(one, !has(one.table))",
        "name a table, and there is no spec.table",
        "set spec.table, or remove the names",
        "overrides",
    )
    def _tables_of_overrides_are_those_of_the_group(self: _Overridden) -> bool:
        return self.table is not None or all(one.table is None for one in self.overrides)

    @rule(
        NotInCel("the API server cannot say whether a pattern in Python's syntax selects a topic"),
        "names topics that spec.kafka does not select, or that an earlier entry has",
        "correct the names; the first entry that names a topic applies",
        "overrides",
    )
    def _overrides_name_topics_of_the_group(self: _Overridden) -> Sequence[Finding]:
        found: list[Finding] = []
        for place, one in enumerate(self.overrides):
            for number, topic in enumerate(one.topics or ()):
                at = ("overrides", place, "topics", number)
                before = self.override_of(topic)
                if not self.kafka.selects(topic):
                    told = "is no topic that spec.kafka selects"
                    found.append(Finding(told, "correct the name, or remove it here", at, f'"{topic}"'))
                elif before is not None and before < place:
                    told = f"is already named by spec.overrides[{before}], and the first entry applies"
                    found.append(Finding(told, "put this entry first, or remove the topic here", at, f'"{topic}"'))
        return found

    @rule(
        NotInCel("each rule of the spec would have to be written once more for each entry"),
        "does not go together with the rest of the spec",
        "correct the entry; what it does not set is the group's",
        "overrides",
    )
    def _overrides_fit(self: _Overridden) -> Sequence[Finding]:
        if not self.overrides:
            return []
        rules = [declared for declared in rules_of(type(self)) if not declared.is_change]
        own, *others = ([one for of in rules for one in of.findings(spec)] for spec in self.variants())
        return [
            _of_override(place, override, finding)
            for place, (override, findings) in enumerate(zip(self.overrides, others, strict=True))
            for finding in findings
            if finding not in own and not (override.table is not None and finding.expectation == ONE_FOR_SEVERAL)
        ]


def _of_override(place: int, override: Override, finding: Finding) -> Finding:
    """Return what is wrong with the spec of the topics of an entry, told where it can be put right."""
    at = ("overrides", place)
    if finding.at and finding.at[0] in override.blocks:
        return replace(finding, at=(*at, *finding.at))
    told = f"does not go together with {path_text(('spec', *finding.at))}, which then {finding.expectation}"
    return Finding(told, f"set {finding.at[0]} in this entry, too, or correct it: {finding.remedy}", at)
