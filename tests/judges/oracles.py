"""What makes rows of values, or of keys that are read like them: of JSON and lines once more, in plain Python.

Other parsers are judged by libraries of others (tests/unit/records); where one of them is only a part of what is
judged, each value is given to it alone.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

from logpersister.formats.file_rows import plain
from logpersister.manifest.line_parsers import CsvSpec
from logpersister.manifest.parser import ParserSpec
from logpersister.manifest.row_schema import SchemaSpec
from logpersister.records.parsers import Parser
from logpersister.records.row_parsers import rows_of
from logpersister.records.writers import Writers
from tests.judges.csv_record import CsvOracle
from tests.judges.pattern import RegexOracle
from tests.judges.refusal import RefusalError
from tests.judges.rows import Oracle, Row, RowOracle
from tests.unit.records.row_samples import batch_of_values


@dataclass(frozen=True)
class AloneOracle(Oracle):
    """The product's parser, one value at a time."""

    schema: SchemaSpec
    parser: ParserSpec
    writers: Writers | None

    def row(self, value: bytes) -> Row:
        parsed = self._native.parse(batch_of_values([value]))
        if parsed.refused is not None:
            reason, field = (one[0].as_py() for one in (parsed.refused.reasons, parsed.refused.fields))
            raise RefusalError(reason, field or "")
        assert parsed.rows is not None
        row: Any = plain(parsed.rows).to_pylist()[0]
        return cast("Row", row)

    @cached_property
    def _native(self) -> Parser:
        return rows_of(self.parser, self.schema, self.writers)


def oracle_of(parser: ParserSpec, schema: SchemaSpec, writers: Writers | None) -> Oracle:
    """Return what makes rows of a schema without keys; `writers`: by which schemas values were written."""
    match parser.type:
        case "protobuf" | "avro" | "messagepack" | "thrift":
            return AloneOracle(schema, parser, writers)
        case "csv":
            return CsvOracle(schema, parser.csv or CsvSpec(), parser.faults)
        case "regex" if parser.regex is not None:
            return RegexOracle(schema, parser.regex, parser.faults)
    return RowOracle(schema, parser.unknown_fields, parser.faults, parser.framing)
