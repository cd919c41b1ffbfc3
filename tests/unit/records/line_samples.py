"""Lines of text: CSV records of any syntax, and patterns with texts that they nearly match."""

from collections.abc import Sequence
from random import Random

from hypothesis import strategies as st

from logpersister.values.csv.block import CsvSpec

_TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from(
    ["", "NULL", "-", "\\N", "True", 'a"b', "a,b", "a\nb", "\r", "x\\", " 1", "ä", "0"]
)


@st.composite
def syntaxes(draw: st.DrawFn) -> CsvSpec:
    """Return a syntax by which no text is null."""
    signs = draw(st.permutations([",", ";", "\t", "\u0001", '"', "'", "\\", "|"]))
    quote = draw(st.sampled_from([signs[1], ""]))
    escape = draw(st.sampled_from([signs[2], "", ""]))
    return CsvSpec(delimiter=signs[0], quote=quote, escape=escape, null_text="no text is this")


@st.composite
def records(draw: st.DrawFn, syntax: CsvSpec) -> bytes:
    """Return a record of two columns, now and then a damaged one."""
    parts = []
    for _ in range(draw(st.sampled_from([2] * 4 + [3]))):
        text = draw(_TEXTS)
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
