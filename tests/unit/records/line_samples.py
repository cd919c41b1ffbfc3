"""Lines of text that fit a schema more or less: CSV records, and patterns with texts that they nearly match."""

from collections.abc import Sequence
from random import Random
from typing import Any

from hypothesis import strategies as st

from logpersister.schemas.types import Plain, Timestamp, parse_type
from logpersister.values.csv.block import CsvSpec
from logpersister.values.field import FieldSpec
from logpersister.values.row_schema import RowSchema
from tests.unit.records import row_samples

NAMES = ["id", "at", "Price", "$ref", "user-id", "_id"]


@st.composite
def schemas(draw: st.DrawFn, names: Any = tuple(NAMES)) -> RowSchema:
    """Return a schema of fields that are made of no others."""
    fields = []
    for name in draw(st.lists(st.sampled_from(names), min_size=1, max_size=4, unique=True)):
        type_ = draw(st.sampled_from(row_samples.LEAVES))
        timed = isinstance(parse_type(type_), Timestamp)
        format_ = draw(st.sampled_from(row_samples.FORMATS)) if timed else None
        fields.append(FieldSpec(name=name, type=type_, required=draw(st.booleans()), format=format_))
    return RowSchema(fields=tuple(fields))


def texts(schema: RowSchema, name: str) -> Any:
    """Return texts for a field: those of JSON without their quotes, null, and others."""
    found = {one.name: one for one in schema.columns}.get(name)
    odd = st.sampled_from(["", "NULL", "-", "\\N", "True", "false", 'a"b', "a,b", "a\nb", "\r", "x\\", " 1", "ä", "0"])
    if found is None:
        return odd
    fitting = row_samples.written(found.type, found.format).map(
        lambda one: one.strip('"') if found.type != Plain("json") else one
    )
    return st.one_of(*[fitting] * 6, odd)


@st.composite
def syntaxes(draw: st.DrawFn, schema: RowSchema) -> CsvSpec:
    signs = draw(st.permutations([",", ";", "\t", "\u0001", '"', "'", "\\", "|"]))
    quote = draw(st.sampled_from([signs[1], ""]))
    escape = draw(st.sampled_from([signs[2], "", ""]))
    names = [one.name for one in schema.declared]
    more = draw(st.sampled_from([None, names, [*names[::-1], "other"], ["other", *names, "another"]]))
    return CsvSpec(
        delimiter=signs[0],
        quote=quote,
        escape=escape,
        null_text=draw(st.sampled_from(["", "NULL", "-", "\\N"])),
        columns=None if more is None else tuple(more),
    )


@st.composite
def records(draw: st.DrawFn, schema: RowSchema, syntax: CsvSpec) -> bytes:
    """Return a record, now and then a damaged one."""
    names = [*(syntax.columns or (one.name for one in schema.declared)), *draw(st.sampled_from([[]] * 4 + [["more"]]))]
    parts = []
    for name in names:
        text = draw(texts(schema, name))
        if syntax.quote and draw(st.booleans()):
            text = syntax.quote + text.replace(syntax.quote, syntax.quote * 2) + syntax.quote
        parts.append(text)
    record = syntax.delimiter.join(parts) + draw(st.sampled_from(["", "", "\n", "\r\n", "\r"]))
    match draw(st.integers(0, 12)):
        case 0:
            record += draw(st.sampled_from([syntax.delimiter, syntax.quote, syntax.escape, "\n", "x"]))
        case 1:
            place = draw(st.integers(0, len(record)))
            record = record[:place] + draw(st.sampled_from(["\n", syntax.quote, syntax.escape, "\r"])) + record[place:]
        case 2:
            record = record[: draw(st.integers(0, len(record)))]
        case 3:
            return record.encode() + b"\xff"
    return record.encode()


_ATOMS = (
    "a", "b", "\u00e4", ".", r"\d", r"\D", r"\w", r"\W", r"\s", r"\S", "[ab]", "[^a]", r"[^\d-]", r"[\w.]", r"\.",
    r"\x41", " ", r"[^\W\s]",
)  # fmt: skip
_PLACES = ("", "", "^", "$", r"\b")
_COUNTS = ("", "", "", "*", "+", "?", "*?", "+?", "??", "{2}", "{1,3}", "{2,}?", "{0}")


def _part(chance: Random, depth: int) -> str:
    match chance.randrange(7) if depth else 0:
        case 0 | 1:
            return chance.choice(_ATOMS) + chance.choice(_COUNTS)
        case 2:
            return chance.choice(_PLACES)
        case 3:
            return f"(?:{_part(chance, depth - 1)}{_part(chance, depth - 1)}){chance.choice(_COUNTS)}"
        case 4:
            return f"(?:{_part(chance, depth - 1)}|{_part(chance, depth - 1)}){chance.choice(_COUNTS)}"
        case 5:
            return f"({_part(chance, depth - 1)}){chance.choice(_COUNTS)}"
        case _:
            return _part(chance, depth - 1) + _part(chance, depth - 1)


def pattern_of(chance: Random, names: Sequence[str]) -> str:
    """Return a pattern with groups of these names; it may repeat what may be empty, and is refused then."""
    pattern = chance.choice(_PLACES)
    for name in names:
        group = f"(?P<{name}>{_part(chance, 2)}{chance.choice(['', '.*', '|-'])})"
        pattern += chance.choice(["{}", "{}", "{}?", "(?:{}|x)", "(?: {})?"]).format(group)
        pattern += chance.choice([" ", "", "a*?", _part(chance, 1)])
    return pattern + chance.choice(_PLACES)


def texts_for_patterns(chance: Random) -> list[str]:
    return ["".join(chance.choices("ab A\u00e41.-\nx_\u0663", k=chance.randrange(8))) for _ in range(40)]
