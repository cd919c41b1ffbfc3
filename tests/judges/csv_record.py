"""Rows of CSV records made once more, character by character; no code of the native parser is in it.

Source: RFC 4180; docs/schemas.md says what is added.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from logpersister.schemas.types import Column
from logpersister.values.csv.block import CsvSpec
from logpersister.values.faults import REFUSED, FaultsSpec
from logpersister.values.row_schema import RowSchema
from tests.judges.faults import Faults
from tests.judges.json_values import Reading
from tests.judges.refusal import RefusalError
from tests.judges.rest import joined
from tests.judges.rows import Oracle, Row
from tests.judges.text_values import text_value


@dataclass(frozen=True)
class CsvOracle(Oracle):
    """A parser, as `values.reading.parsers` has them, once more."""

    schema: RowSchema
    syntax: CsvSpec
    faults: FaultsSpec = REFUSED

    def row(self, value: bytes) -> Row:
        texts = list(_texts(decoded(value, self.faults), self.syntax))
        rest = self.schema.rest
        if len(texts) < len(self._names):
            raise RefusalError("too_few_columns")
        if len(texts) > len(self._names) and rest is None:
            raise RefusalError("too_many_columns")
        names = [*self._names, *(str(place) for place in range(len(self._names), len(texts)))]
        found: dict[str, Any] = dict.fromkeys(one.name for one in self.schema.columns)
        others: list[tuple[str, str]] = []
        for name, text in zip(names, texts, strict=True):
            if name in self._columns:
                found[name] = read_column(text, self._columns[name], self.faults)
            else:
                others.append((_json(name), _json(text)))
        return found if rest is None else {**found, rest.name: joined(others)}

    @cached_property
    def _columns(self) -> dict[str, Column]:
        return {one.name: one for one in self.schema.declared}

    @cached_property
    def _names(self) -> tuple[str, ...]:
        return self.syntax.columns or tuple(self._columns)


def _json(text: str | None) -> str:
    return json.dumps(text, ensure_ascii=False)


def read_column(text: str | None, column: Column, faults: FaultsSpec) -> Any:
    """Return what a text becomes, None for null, in a column. Raises `RefusalError`."""
    reading = Reading(column.format or "rfc3339")
    return Faults(faults).inside(
        column.name,
        lambda: text_value(text or "", column.type, reading),
        _nothing,
        is_null=text is None,
        required=column.required,
    )


def _nothing() -> Any:
    raise RefusalError("wrong_type")


def decoded(value: bytes, faults: FaultsSpec) -> str:
    """Return the text that a value is. Raises `RefusalError`."""
    try:
        return value.decode(errors="replace" if faults.invalid_utf8 == "replace" else "strict")
    except UnicodeDecodeError:
        raise RefusalError("not_utf8") from None


def _texts(record: str, syntax: CsvSpec) -> Iterator[str | None]:
    """Yield the text of each column, None for null. Raises `RefusalError`."""
    at = 0
    while True:
        text, at = _column(record, at, syntax)
        yield text
        if record[at:] in ("", "\n", "\r\n", "\r"):
            return
        if record[at] != syntax.delimiter:
            raise RefusalError("not_csv")
        at += 1


def _column(record: str, begin: int, syntax: CsvSpec) -> tuple[str | None, int]:
    """Return the text that begins here, and where it ends."""
    text, at = "", begin
    is_quoted = record[at : at + 1] == syntax.quote != ""
    at += is_quoted
    while True:
        sign = record[at : at + 1]
        if sign == syntax.escape != "":
            if at + 1 == len(record):
                raise RefusalError("not_csv")
            text += record[at + 1]
            at += 2
        elif is_quoted and sign == syntax.quote:
            if record[at + 1 : at + 2] != syntax.quote:
                return text, at + 1
            text += sign
            at += 2
        elif not is_quoted and sign in ("", syntax.delimiter, "\n", "\r"):
            return None if record[begin:at] == syntax.null_text else text, at
        elif sign == "":
            raise RefusalError("not_csv")
        else:
            text += sign
            at += 1
