"""Rows of lines of text: the native parsers against Python's csv and Python's re, and types of columns by hand."""

import csv
import re
from decimal import Decimal
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logpersister.forms.pattern import groups_of
from logpersister.forms.problems import RefusedError
from logpersister.values.csv.block import CsvSpec
from logpersister.values.field import FieldSpec
from logpersister.values.regex.block import RegexSpec
from logpersister.values.row_schema import RowSchema
from tests.examples import examples
from tests.unit.records.judging import judged_by
from tests.unit.records.kinds import of_csv, of_regex
from tests.unit.records.line_samples import pattern_of, records, syntaxes, texts_for_patterns
from tests.unit.records.test_rows import schema_of


@pytest.mark.slow
@examples(150)
@given(st.data())
def test_records_are_those_of_python(data: st.DataObject) -> None:
    """Texts only, of which the empty one without quotes is null."""
    schema = RowSchema(fields=tuple(FieldSpec(name=name, type="string") for name in ("a", "b")))
    syntax = data.draw(syntaxes())
    # Python ends a record at any number of line breaks, and takes none that is escaped.
    otherwise = re.compile(
        rf"(?:[\r\n]{{2,}}(?<!\r\n)|[\r\n]{{3,}})\Z|{re.escape(syntax.escape) or '(?!)'}[\r\n]".encode()
    )
    for record in data.draw(st.lists(records(syntax), max_size=6)):
        if otherwise.search(record):
            continue
        rows, refused = judged_by(of_csv(schema, syntax), [record])
        try:
            expected = _read(record.decode(), syntax)
        except UnicodeDecodeError:
            assert refused[0][1] == "not_utf8"
        except csv.Error:
            assert refused[0][1] == "not_csv", record
        else:
            found = [list(row.values()) for row in rows] or [refused[0][1]]
            kind = (
                [expected] if len(expected) == 2 else ["too_few_columns" if len(expected) < 2 else "too_many_columns"]
            )
            assert found == kind, record


def _read(record: str, syntax: CsvSpec) -> list[str]:
    """Return what Python's csv reads, which has no row for an empty line."""
    reader = csv.reader(
        [record],
        delimiter=syntax.delimiter,
        quotechar=syntax.quote or None,
        quoting=csv.QUOTE_MINIMAL if syntax.quote else csv.QUOTE_NONE,
        escapechar=syntax.escape or None,
        strict=True,
    )
    rows = list(reader)
    if len(rows) > 1:
        raise csv.Error("two records")
    return rows[0] if rows and rows[0] else [""]


@pytest.mark.slow
@examples(300)
@given(st.integers(0, 2**32).map(Random))
def test_patterns_are_those_of_python(chance: Random) -> None:
    names = chance.sample(["id", "at", "level"], chance.randrange(1, 4))
    pattern = pattern_of(chance, names)
    try:
        groups = groups_of(pattern)
    except RefusedError as error:
        assert "empty text" in str(error), pattern  # noqa: PT017 - the others are not refused
        return
    assert groups == tuple(names)
    schema = RowSchema(fields=tuple(FieldSpec(name=name, type="string") for name in names))
    found = texts_for_patterns(chance)
    rows, refused = judged_by(of_regex(schema, RegexSpec(pattern=pattern)), [one.encode() for one in found])
    compiled = re.compile(pattern.replace("$", r"\Z"), re.ASCII)
    matches = [compiled.fullmatch(one) for one in found]
    assert rows == [match.groupdict() for match in matches if match], pattern
    assert [place for place, _, _ in refused] == [place for place, match in enumerate(matches) if not match]


ORDER = schema_of(
    ("id", "int64", "required"), ("at", "timestamp[ms]", "epoch[s]"), ("price", "decimal(5,2)"), ("note", "string")
)
ROW = {"id": 7, "at": 1_795_237_200_000, "price": Decimal("1.50"), "note": "a, b"}
PATTERN = r'(?P<id>\S+) (?P<at>\d+|-) (?P<price>\S+)(?: "(?P<note>[^"]*)")?'
CSV, REGEX = CsvSpec(), RegexSpec(pattern=PATTERN, null_text="-")
NULLS = {"at": None, "price": None, "note": None}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (b'7,1795237200,1.50,"a, b"\n', ROW),
        (b'7,,,""', {"id": 7, **NULLS, "note": ""}),
        (b'7,"",,', ("bad_text", "at")),
        (b",,,", ("missing", "id")),
        (b"9223372036854775808,,,", ("overflow", "id")),
        (b"x,,,", ("bad_text", "id")),
        (b"7.5,,,", ("wrong_type", "id")),
        (b"x,,", ("too_few_columns", None)),
        (b"x,,,,", ("too_many_columns", None)),
        (b'x,,,"', ("not_csv", None)),
        (b"7,,,\n8,,,", ("not_csv", None)),
    ],
    ids=str,
)
def test_a_record_by_hand(value: bytes, expected: Any) -> None:
    good = b'7,1795237200,1.50,"a, b"'
    rows, refused = judged_by(of_csv(ORDER, CSV), [good, value, None, good])
    assert rows == ([ROW, expected, None, ROW] if isinstance(expected, dict) else [ROW, None, ROW])
    assert refused == ([] if isinstance(expected, dict) else [(1, *expected)])


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (b'7 1795237200 1.50 "a, b"', ROW),
        (b'7 - - ""', {"id": 7, **NULLS, "note": ""}),
        (b"- - -", ("missing", "id")),
        (b"7 - -\n", ("no_match", None)),
        ("7 \u0661 -".encode(), ("no_match", None)),
    ],
    ids=str,
)
def test_a_text_by_hand(value: bytes, expected: Any) -> None:
    good = b'7 1795237200 1.50 "a, b"'
    rows, refused = judged_by(of_regex(ORDER, REGEX), [good, value, None, good])
    assert rows == ([ROW, expected, None, ROW] if isinstance(expected, dict) else [ROW, None, ROW])
    assert refused == ([] if isinstance(expected, dict) else [(1, *expected)])
