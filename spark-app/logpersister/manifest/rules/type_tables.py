"""Tables of types, and their rules: each type that is stored as Parquet, in a folder with a name."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Self

from logpersister.forms.problems import Finding
from logpersister.forms.rule import refuses, rules_of
from logpersister.manifest.blocks.event_types import ONLY_TYPE, TypeEntry, TypeRule, TypesSpec
from logpersister.manifest.rules.sections import Sections
from logpersister.manifest.rules.table_rules import TableRules
from logpersister.manifest.rules.type_rules import of_entry, where

MOST_TABLES: Final = 500
"""Most tables of one topic: their columns are part of each revision."""
_NO_TABLES: Final = "cannot have tables of its types"


def _folders(rule_: TypeRule) -> Sequence[str]:
    """Return the values of the folders of a rule; none where only records say them."""
    if rule_.folder is not None:
        return (rule_.folder,)
    return (rule_.names or ()) if isinstance(rule_, TypeEntry) else ()


class TypeTableRules(Sections):
    """The rules, for a spec that has these fields."""

    def tables_of_types(self) -> Mapping[str, Self]:
        """Return what holds for each type with a table, by the value of its folder, as specs without types.

        A topic without types has one, whose name is empty.
        """
        if self.types is None:
            return {} if self.table is None else {ONLY_TYPE: self}
        return {
            name: one.model_copy(update={"table": None if one.table is None else one.table.for_type(name)})
            for _, rule_, one in self.with_tables()
            for name in _folders(rule_)
        }

    def with_tables(self) -> Iterator[tuple[int, TypeRule, Self]]:
        """Yield place, rule and spec of those whose types have tables."""
        for place, (rule_, one) in enumerate(zip(self.type_rules, self.of_types(), strict=True)):
            if self.table is not None and rule_.action == "store" and rule_.table and one.output.format == "parquet":
                yield place, rule_, one

    @refuses
    def _types_can_have_tables(self) -> Iterator[Finding]:
        if self.types is None or self.table is None or self.table.format == "hive":
            return
        tables = self.tables_of_types()
        nameless = list(_without_names(self, self.types))
        if not tables and not nameless:
            told = f"{_NO_TABLES}: none is stored with format parquet"
            yield Finding(told, "set output.parquet in an entry, or remove spec.table", ("types",))
        elif len(tables) > MOST_TABLES:
            told = f"{_NO_TABLES}: they would be {len(tables)}, and {MOST_TABLES} is the most"
            yield Finding(told, "give types of one shape a common folder, or set table: false", ("types",))
        else:
            yield from (*nameless, *_of_one_name(tables, self.types), *_unfit(self, self.types))


def _without_names(spec: TypeTableRules, types: TypesSpec) -> Iterator[Finding]:
    for place, rule_, _ in spec.with_tables():
        if not _folders(rule_):
            told = f"{_NO_TABLES}: only records say what they are called"
            yield Finding(told, "set folder, or table: false", ("types", *where(place, types)))


def _of_one_name(tables: Mapping[str, Sections], types: TypesSpec) -> Iterator[Finding]:
    """Yield which types would share a table; catalogs may know names in lower case only."""
    taken: dict[str, str] = {}
    for name, one in tables.items():
        table = "" if one.table is None else one.table.name
        before = taken.setdefault(table.lower(), name)
        if before != name:
            place = next(place for place, rule_ in enumerate(types.rules) if name in _folders(rule_))
            told = f"{_NO_TABLES}: those of {before} and {name} would be one, {table}"
            remedy = "give one of them a folder with another name; case and signs do not count"
            yield Finding(told, remedy, ("types", *where(place, types)))


def _unfit(spec: TypeTableRules, types: TypesSpec) -> Iterator[Finding]:
    for place, _, one in spec.with_tables():
        for declared in rules_of(TableRules):
            for finding in declared.findings(one):
                if finding.at[0] in ("output", "value"):  # those about the table itself hold for all types alike
                    yield of_entry(place, types, finding)
