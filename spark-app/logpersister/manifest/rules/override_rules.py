"""Rules about ``spec.overrides``: whether entries name topics of the group, and fit to the rest of a spec."""

from collections.abc import Iterator
from dataclasses import replace

from logpersister.forms.problems import Finding, path_text
from logpersister.forms.rule import refuses, rules_of
from logpersister.manifest.blocks.overrides import Override
from logpersister.manifest.blocks.table import ONE_FOR_SEVERAL
from logpersister.manifest.rules.sections import Sections


class OverrideRules(Sections):
    """The rules, for a spec that has these fields."""

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
