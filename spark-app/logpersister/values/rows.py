"""Parsers that make rows of values, or of keys that are read like them: one for each kind."""

from logpersister.values.avro.rows import AvroRows
from logpersister.values.csv.rows import CsvRows
from logpersister.values.csv.syntax import CsvSpec
from logpersister.values.json.rows import make_rows
from logpersister.values.messagepack.rows import MessagePackRows
from logpersister.values.parser import Parsing
from logpersister.values.protobuf.rows import ProtobufRows
from logpersister.values.reading.parsers import Parser
from logpersister.values.reading.record_headers import OF_VALUES, IdsInHeaders
from logpersister.values.reading.writers import Writers, for_framing
from logpersister.values.regex.rows import RegexRows
from logpersister.values.regex.syntax import RegexSpec
from logpersister.values.row_schema import RowSchema
from logpersister.values.thrift.rows import ThriftRows


def rows_of(parser: Parsing, schema: RowSchema, writers: Writers | None, header: bytes = OF_VALUES) -> Parser:
    """Return what makes rows of a schema without keys.

    Args:
        parser: how values are read.
        schema: what they become; the subject of its registry is that of a topic.
        writers: by which schemas they were written; needed where their headers have ids of a registry.
        header: of records, which may have what else stands before values.
    """
    rows = _rows_of(parser, schema, writers)
    if parser.framing != "confluent":
        return rows
    return IdsInHeaders(rows, writers if parser.names_schemas else None, header)


def _rows_of(parser: Parsing, schema: RowSchema, writers: Writers | None) -> Parser:
    match parser.type:
        case "messagepack":
            return MessagePackRows(schema, parser.unknown_fields, parser.faults)
        case "thrift":
            return ThriftRows(schema, parser.protocol, parser.faults)
        case "csv":
            csv = parser.syntax if isinstance(parser.syntax, CsvSpec) else CsvSpec()
            return CsvRows(schema, csv, parser.unknown_fields == "keep", parser.faults)
        case "regex":
            if not isinstance(parser.syntax, RegexSpec):
                raise ValueError("parser regex needs a pattern")  # noqa: TRY004
            return RegexRows(schema, parser.syntax, parser.faults)
        case "avro" | "protobuf":
            return _resolved_rows(parser, schema, writers)
        case _:
            return make_rows(parser, schema)


def _resolved_rows(parser: Parsing, schema: RowSchema, writers: Writers | None) -> Parser:
    rows = AvroRows if parser.type == "avro" else ProtobufRows
    if parser.framing == "plain":
        return rows(schema, parser.framing, None, parser.faults)
    subject = None if schema.registry is None else schema.registry.subject
    found = for_framing(writers, parser.framing, subject)
    if found is None and not schema.written_by(parser.framing):
        raise ValueError(f"parser {parser.type} needs the schemas of writers")
    return rows(schema, parser.framing, found, parser.faults)
