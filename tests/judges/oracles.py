"""What makes rows of values, or of keys that are read like them, once more: one oracle for each kind."""

from logpersister.manifest.line_parsers import CsvSpec
from logpersister.manifest.parser import ParserSpec, ThriftSpec
from logpersister.manifest.row_schema import SchemaSpec
from logpersister.records.writers import Writers, for_framing
from tests.judges.avro import AvroOracle
from tests.judges.csv_record import CsvOracle
from tests.judges.messagepack import MessagePackOracle
from tests.judges.pattern import RegexOracle
from tests.judges.protobuf import ProtobufOracle
from tests.judges.rows import Oracle, RowOracle
from tests.judges.thrift import ThriftOracle


def oracle_of(parser: ParserSpec, schema: SchemaSpec, writers: Writers | None) -> Oracle:  # noqa: PLR0911 - one for each
    """Return what makes rows of a schema without keys; `writers`: by which schemas values were written."""
    match parser.type:
        case "protobuf":
            return ProtobufOracle(schema, parser.framing, writers, parser.faults)
        case "avro":
            subject = None if schema.registry is None else schema.registry.subject
            return AvroOracle(schema, parser.framing, for_framing(writers, parser.framing, subject), parser.faults)
        case "messagepack":
            return MessagePackOracle(schema, parser.unknown_fields, parser.faults)
        case "thrift":
            return ThriftOracle(schema, (parser.thrift or ThriftSpec()).protocol, parser.faults)
        case "csv":
            return CsvOracle(schema, parser.csv or CsvSpec(), parser.faults)
        case "regex" if parser.regex is not None:
            return RegexOracle(schema, parser.regex, parser.faults)
    return RowOracle(schema, parser.unknown_fields, parser.faults, parser.framing)
