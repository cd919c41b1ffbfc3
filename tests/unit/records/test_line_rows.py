"""Rows of lines of text: the native parsers against oracles of tests.judges, Python's csv and Python's re."""

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
from logpersister.values.faults import FaultsSpec
from logpersister.values.field import FieldSpec
from logpersister.values.parser import UnknownFields
from logpersister.values.regex.block import RegexSpec
from logpersister.values.row_schema import RowSchema
from tests.examples import examples
from tests.judges.csv_record import CsvOracle
from tests.judges.pattern import RegexOracle
from tests.unit.records import fault_samples
from tests.unit.records.judging import Judged, judged_by, of_oracle
from tests.unit.records.kinds import of_csv, of_regex
from tests.unit.records.line_samples import pattern_of, records, schemas, syntaxes, texts, texts_for_patterns
from tests.unit.records.row_samples import batch_of_values
from tests.unit.records.test_rows import schema_of


@pytest.mark.slow
@examples(200)
@given(st.data(), st.sampled_from(["drop", "keep"]), fault_samples.of_lines)
def test_records_are_those_of_the_oracle(data: st.DataObject, unknown: UnknownFields, faults: FaultsSpec) -> None:
    schema = fault_samples.kept(data.draw(schemas()), unknown)
    syntax = data.draw(syntaxes(schema))
    found = data.draw(st.lists(st.none() | records(schema, syntax), max_size=10))
    parser = of_csv(schema, syntax, unknown, faults)
    assert judged_by(parser, found) == of_oracle(CsvOracle(schema, syntax, faults), found)
    fault_samples.assert_adjusted(parser, of_csv(schema, syntax, unknown), found)


@pytest.mark.slow
@examples(150)
@given(st.data())
def test_records_are_those_of_python(data: st.DataObject) -> None:
    """Texts only, of which the empty one without quotes is null."""
    schema = RowSchema(fields=tuple(FieldSpec(name=name, type="string") for name in ("a", "b")))
    syntax = data.draw(syntaxes(schema)).model_copy(update={"columns": None, "null_text": "no text is this"})
    # Python ends a record at any number of line breaks, and takes none that is escaped.
    otherwise = re.compile(
        rf"(?:[\r\n]{{2,}}(?<!\r\n)|[\r\n]{{3,}})\Z|{re.escape(syntax.escape) or '(?!)'}[\r\n]".encode()
    )
    for record in data.draw(st.lists(records(schema, syntax), max_size=6)):
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


@pytest.mark.slow
@examples(100)
@given(st.data(), fault_samples.of_lines)
def test_what_groups_become_is_what_the_oracle_says(data: st.DataObject, faults: FaultsSpec) -> None:
    schema = data.draw(schemas(("id", "at", "_id")))
    names = [one.name for one in schema.columns]
    null = data.draw(st.sampled_from([None, "", "-", "NULL"]))
    regex = RegexSpec(pattern=r"\n?;".join(f"(?P<{name}>[^;]*?)" for name in names), null_text=null)
    values = st.tuples(*(texts(schema, name) for name in names)).map(lambda one: ";".join(one).encode())
    found = data.draw(st.lists(st.none() | values | values.map(lambda one: one + b"\xff"), max_size=8))
    parser = of_regex(schema, regex, faults)
    assert judged_by(parser, found) == of_oracle(RegexOracle(schema, regex, faults), found)
    fault_samples.assert_adjusted(parser, of_regex(schema, regex), found)


ORDER = schema_of(
    ("id", "int64", "required"), ("at", "timestamp[ms]", "epoch[s]"), ("price", "decimal(5,2)"), ("note", "string")
)
ROW = {"id": 7, "at": 1_795_237_200_000, "price": Decimal("1.50"), "note": "a, b"}
PATTERN = r'(?P<id>\S+) (?P<at>\d+|-) (?P<price>\S+)(?: "(?P<note>[^"]*)")?'
CSV, REGEX = CsvSpec(), RegexSpec(pattern=PATTERN, null_text="-")
NULLS = {"at": None, "price": None, "note": None}


def both(parser: Any, oracle: Any, values: list[bytes | None]) -> Judged:
    found = judged_by(parser, values)
    assert of_oracle(oracle, values) == found
    return found


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (b'7,1795237200,1.50,"a, b"\n', ROW),
        (b"7,,,", {"id": 7, **NULLS}),
        (b'7,,,""', {"id": 7, **NULLS, "note": ""}),
        (b'7,"",,', ("bad_text", "at")),
        (b",,,", ("missing", "id")),
        (b"7.5,,,", ("wrong_type", "id")),
        (b"9223372036854775808,,,", ("overflow", "id")),
        (b"x,,,", ("bad_text", "id")),
        (b"x,,", ("too_few_columns", None)),
        (b"x,,,,", ("too_many_columns", None)),
        (b'x,,,"', ("not_csv", None)),
        (b"7,,,\n8,,,", ("not_csv", None)),
        (b"x\xff", ("not_utf8", None)),
        (b"", ("too_few_columns", None)),
    ],
    ids=str,
)
def test_a_record_by_hand(value: bytes, expected: Any) -> None:
    good = b'7,1795237200,1.50,"a, b"'
    rows, refused = both(of_csv(ORDER, CSV), CsvOracle(ORDER, CSV), [good, value, None, good])
    assert rows == ([ROW, expected, None, ROW] if isinstance(expected, dict) else [ROW, None, ROW])
    assert refused == ([] if isinstance(expected, dict) else [(1, *expected)])


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (b'7 1795237200 1.50 "a, b"', ROW),
        (b"7 - -", {"id": 7, **NULLS}),
        (b'7 - - ""', {"id": 7, **NULLS, "note": ""}),
        (b"- - -", ("missing", "id")),
        (b"x - -", ("bad_text", "id")),
        (b"7 - -\n", ("no_match", None)),
        (b"", ("no_match", None)),
        ("7 \u0661 -".encode(), ("no_match", None)),
        (b"7 - - \xff", ("not_utf8", None)),
    ],
    ids=str,
)
def test_a_text_by_hand(value: bytes, expected: Any) -> None:
    good = b'7 1795237200 1.50 "a, b"'
    rows, refused = both(of_regex(ORDER, REGEX), RegexOracle(ORDER, REGEX), [good, value, None, good])
    assert rows == ([ROW, expected, None, ROW] if isinstance(expected, dict) else [ROW, None, ROW])
    assert refused == ([] if isinstance(expected, dict) else [(1, *expected)])


def test_the_largest_pattern_that_the_manifest_accepts_can_be_compiled() -> None:
    schema = schema_of(("id", "string"))
    for atom in (".", r"[^\w\s]", "\u00e4", "[\u00e4-\uffff]"):
        of_regex(schema, RegexSpec(pattern=f"(?P<id>(?:{atom}{{1000}}){{5}})")).parse(batch_of_values([b"x"]))
