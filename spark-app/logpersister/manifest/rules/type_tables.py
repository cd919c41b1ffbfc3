"""Tables of types, and their rules: each type that is stored as Parquet, in a folder with a name."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, cast

from logpersister.forms.constraint import Model
from logpersister.forms.problems import Finding
from logpersister.forms.rule import refuses, rules_of
from logpersister.manifest.blocks.event_types import ONLY_TYPE, TypeEntry, TypeRule, TypesSpec
from logpersister.manifest.rules.table_rules import TableRules
from logpersister.manifest.rules.type_rules import of_entry, where
from logpersister.manifest.rules.type_specs import AnySpec, Sections, rules_of_types, specs_of_types

MOST_TABLES: Final = 500
"""Most tables of one topic: their columns are part of each revision."""
_NO_TABLES: Final = "cannot have tables of its types"


def tables_of_types(spec: AnySpec) -> Mapping[str, AnySpec]:
    """Return by the value of its folder what holds for each type with a table, as a spec of a topic without types."""
    if spec.types is None:
        return {} if spec.table is None else {ONLY_TYPE: spec}
    return {
        name: one.model_copy(update={"table": None if one.table is None else one.table.for_type(name)})
        for _, rule_, one in _with_tables(spec)
        for name in _folders(rule_)
    }


def _with_tables(spec: AnySpec) -> Iterator[tuple[int, TypeRule, AnySpec]]:
    """Yield place, rule and spec of those whose types have tables."""
    for place, (rule_, one) in enumerate(zip(rules_of_types(spec), specs_of_types(spec), strict=True)):
        if spec.table is not None and rule_.action == "store" and rule_.table and one.output.format == "parquet":
            yield place, rule_, one


def _folders(rule_: TypeRule) -> Sequence[str]:
    """Return the values of the folders of a rule; none where only records say them."""
    if rule_.folder is not None:
        return (rule_.folder,)
    return (rule_.names or ()) if isinstance(rule_, TypeEntry) else ()


class TypeTableRules(Model):
    """The rules, for a spec that has these fields."""

    @refuses
    def _types_can_have_tables(self: Sections) -> Iterator[Finding]:
        if self.types is None or self.table is None or self.table.format == "hive":
            return
        tables = tables_of_types(self)
        nameless = list(_without_names(self, self.types))
        if not tables and not nameless:
            told = f"{_NO_TABLES}: none is stored with format parquet"
            yield Finding(told, "set output.parquet in an entry, or remove spec.table", ("types",))
        elif len(tables) > MOST_TABLES:
            told = f"{_NO_TABLES}: they would be {len(tables)}, and {MOST_TABLES} is the most"
            yield Finding(told, "give types of one shape a common folder, or set table: false", ("types",))
        else:
            yield from (*nameless, *_of_one_name(tables, self.types), *_unfit(self, self.types))


def _without_names(spec: Sections, types: TypesSpec) -> Iterator[Finding]:
    for place, rule_, _ in _with_tables(spec):
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


def _unfit(spec: Sections, types: TypesSpec) -> Iterator[Finding]:
    """Yield what a table would refuse of an entry."""
    for place, _, one in _with_tables(spec):
        for declared in rules_of(TableRules):
            for finding in declared.findings(cast("TableRules", one)):
                if finding.at[0] in ("output", "value"):  # those about the table itself hold for all types alike
                    yield of_entry(place, types, finding)
