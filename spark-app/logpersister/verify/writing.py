"""How a revision writes records, as far as a verification has to know."""

from dataclasses import dataclass

from logpersister.manifest.line_parsers import CsvSpec
from logpersister.manifest.output import OutputSpec
from logpersister.manifest.parser import ParserSpec
from logpersister.manifest.row_schema import SchemaSpec
from logpersister.records.paths import Layout, make_layout
from logpersister.records.quarantine import QuarantineLayout, layout_of
from logpersister.records.writers import Writers
from logpersister.verify.avro import AvroOracle
from logpersister.verify.csv_record import CsvOracle
from logpersister.verify.folders import FolderOracle
from logpersister.verify.messagepack import MessagePackOracle
from logpersister.verify.pattern import RegexOracle
from logpersister.verify.protobuf import ProtobufOracle
from logpersister.verify.rows import Oracle, RowOracle


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
    def oracle(self) -> Oracle | None:  # noqa: PLR0911 - one for each parser
        """What makes rows of values; None: nothing does."""
        if self.schema is None:
            return None
        match self.parser.type:
            case "protobuf":
                return ProtobufOracle(self.schema, self.parser.framing, self.writers)
            case "avro" if self.writers is not None:
                return AvroOracle(self.schema, self.parser.framing, self.writers)
            case "messagepack":
                return MessagePackOracle(self.schema, self.parser.unknown_fields)
            case "csv":
                return CsvOracle(self.schema, self.parser.csv or CsvSpec())
            case "regex" if self.parser.regex is not None:
                return RegexOracle(self.schema, self.parser.regex)
            case _:
                return RowOracle(self.schema, self.parser.unknown_fields)

    @property
    def layout(self) -> Layout:
        """In which path each record belongs."""
        if self.oracle is None:
            return layout_of(self.output, self.parser, None)
        if self.output.partitions_by_fields:
            return FolderOracle(self.output.partition_by, self.oracle)
        return QuarantineLayout(self.oracle, make_layout(self.output.partition_by))
