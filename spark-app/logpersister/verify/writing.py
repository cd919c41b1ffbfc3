"""How a revision writes records, as far as a verification has to know."""

from dataclasses import dataclass

from logpersister.manifest.line_parsers import CsvSpec
from logpersister.manifest.output import OutputSpec
from logpersister.manifest.parser import ParserSpec, ThriftSpec
from logpersister.manifest.row_schema import SchemaSpec
from logpersister.records.paths import Layout, make_layout
from logpersister.records.quarantine import QuarantineLayout, WithoutRefusedValues, layout_of
from logpersister.records.writers import Writers
from logpersister.verify.avro import AvroOracle
from logpersister.verify.csv_record import CsvOracle
from logpersister.verify.folders import FolderOracle
from logpersister.verify.hiding import hiding
from logpersister.verify.messagepack import MessagePackOracle
from logpersister.verify.pattern import RegexOracle
from logpersister.verify.protobuf import ProtobufOracle
from logpersister.verify.rows import Oracle, RowOracle
from logpersister.verify.thrift import ThriftOracle


@dataclass(frozen=True, slots=True)
class Writing:
    """How a revision writes records."""

    output: OutputSpec
    parser: ParserSpec
    schema: SchemaSpec | None = None
    other_rules: str = ""
    """Who wrote by other rules than ours, and by which: then what differs proves nothing. Empty: nobody."""
    writers: Writers | None = None
    """By which schemas values were written that name them."""

    @property
    def oracle(self) -> Oracle | None:
        """What makes rows of values, as they are stored; None: nothing does. Raises ManifestError without its key."""
        return None if self.schema is None else hiding(self._parser_of(self.schema))

    def _parser_of(self, schema: SchemaSpec) -> Oracle:  # noqa: PLR0911 - one for each parser
        match self.parser.type:
            case "protobuf":
                return ProtobufOracle(schema, self.parser.framing, self.writers)
            case "avro" if self.writers is not None:
                return AvroOracle(schema, self.parser.framing, self.writers)
            case "messagepack":
                return MessagePackOracle(schema, self.parser.unknown_fields)
            case "thrift":
                return ThriftOracle(schema, (self.parser.thrift or ThriftSpec()).protocol)
            case "csv":
                return CsvOracle(schema, self.parser.csv or CsvSpec())
            case "regex" if self.parser.regex is not None:
                return RegexOracle(schema, self.parser.regex)
            case _:
                return RowOracle(schema, self.parser.unknown_fields)

    @property
    def layout(self) -> Layout:
        """In which path each record belongs."""
        oracle = self.oracle
        if oracle is None:
            return layout_of(self.output, self.parser, None)
        layout: Layout = (
            FolderOracle(self.output.partition_by, oracle)
            if self.output.partitions_by_fields
            else QuarantineLayout(oracle, make_layout(self.output.partition_by))
        )
        hides = self.schema is not None and bool(self.schema.hidden)
        return layout if self.parser.keeps_refused_values(hides=hides) else WithoutRefusedValues(layout)
