"""Rules about format ``kafka``: what does not go together with record batches that are stored as they are."""

from collections.abc import Iterator
from typing import Final

from logpersister.forms.problems import Finding
from logpersister.forms.rule import refuses
from logpersister.manifest.rules.sections import Sections

_TOLD: Final = "stores record batches as they are, and their records are neither parsed nor told apart"


class VerbatimRules(Sections):
    """The rules, for a spec that has these fields."""

    @refuses
    def _record_batches_stay_whole(self) -> Iterator[Finding]:
        if self.output.kafka is not None:
            is_parsed = self.value.kind != "bytes" or self.types is not None
            if is_parsed or self.output.partition_by or self.leaves_out or self.table:
                remedy = "remove output.partitionBy, value, keep, types and table, or choose another format"
                yield Finding(_TOLD, remedy, ("output", "kafka"))
        elif self.types is not None and any(one.output.kafka is not None for one in self.of_types()):
            yield Finding(f"have an output that {_TOLD}", "choose another format for the types", ("types",))
