"""Values that are texts of a pattern: ``regex`` of ``spec.value``."""

from collections.abc import Iterator

from logpersister.forms.pattern import groups_of
from logpersister.forms.problems import Finding
from logpersister.forms.rule import refuses
from logpersister.values.faults import LineFaultsSpec
from logpersister.values.kind import Fields
from logpersister.values.parser import Parsing
from logpersister.values.regex.syntax import RegexSpec
from logpersister.values.row_schema import RowSchema


class RegexValue(RegexSpec):
    """Each value is a text that a pattern matches."""

    fields: Fields
    """Fields that become columns, each a group of the pattern; their types have no parts."""

    faults: LineFaultsSpec = LineFaultsSpec()
    """What becomes of values that do not fit (docs/schemas.md#values-that-do-not-fit)."""

    @property
    def parser(self) -> Parsing:
        return Parsing(type="regex", syntax=self, faults=self.faults.chosen)

    @property
    def row_schema(self) -> RowSchema:
        return RowSchema(fields=self.fields)

    @refuses
    def _groups_are_fields(self) -> Iterator[Finding]:
        groups, names = groups_of(self.pattern), {one.name for one in self.fields}
        for place, one in enumerate(self.fields):
            if one.name not in groups:
                remedy = f"write for example (?P<{one.name}>[^ ]*) into pattern, or remove it"
                yield Finding("is not a field of the values", remedy, ("fields", place, "name"), f'"{one.name}"')
        for name in groups:
            if name not in names:
                remedy = f"add the field {name}, or write (?:...) instead of (?P<{name}>...)"
                yield Finding(f"has a group whose name is not a field: {name}", remedy, ("pattern",))
