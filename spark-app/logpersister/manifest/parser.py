"""``spec.parser``: what values must be; records whose values are not are stored apart, in quarantine."""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from logpersister.manifest.constraint import Flag, Model
from logpersister.manifest.faults import FaultsSpec
from logpersister.manifest.line_parsers import CsvSpec, RegexSpec
from logpersister.manifest.names import FieldName
from logpersister.manifest.rule import NotInCel, cel_literal, rule
from logpersister.manifest.shares import Percent

Parser = Literal["bytes", "json", "avro", "protobuf", "thrift", "messagepack", "csv", "regex"]
UnknownFields = Literal["drop", "keep", "refuse"]
Framing = Literal["confluent", "apicurio", "glue", "singleObject", "plain"]
Protocol = Literal["binary", "compact"]
QuarantineFormat = Literal["output", "parquet"]

REGISTERED: Final[frozenset[Parser]] = frozenset({"avro", "protobuf"})
"""Parsers of values whose writers have schemas of their own."""
FRAMED: Final[frozenset[Parser]] = REGISTERED | {"json"}
"""Parsers of values that may have a header."""
WRITTEN: Final[tuple[Parser, ...]] = ("avro", "protobuf", "thrift")
"""Parsers of values of which a schema says the types, so that they are never of another kind."""
BY_ID: Final[frozenset[Framing]] = frozenset({"confluent", "apicurio", "glue"})
"""Headers with the id of a schema, which a registry has given it."""

KEEPING: Final[tuple[Parser, ...]] = ("json", "messagepack", "csv")
"""Parsers that can keep what a schema does not name."""
REST: Final = "_rest"
"""Name of the column of what is unknown, unless the manifest gives it another one."""


def usual_framing(parser: str) -> Framing:
    """Return the framing where none is named."""
    return "confluent" if parser in REGISTERED else "plain"


def framed(*framings: Framing, of: str = "self.parser") -> str:
    """Return the CEL that is true when a manifest names one of these framings, of values or of what stands at `of`."""
    return f"(has({of}) && has({of}.framing) && {of}.framing in {cel_literal(sorted(framings))})"


class ThriftSpec(Model):
    """How values of parser ``thrift`` are written."""

    protocol: Protocol = "binary"
    """`binary` (`TBinaryProtocol`) or `compact` (`TCompactProtocol`)."""


class QuarantineSpec(Model):
    """How records are stored that the parser refuses."""

    format: QuarantineFormat = "output"
    """`output`: like all other records. `parquet`: with all that a record has, so that `logpersister quarantine replay`
    can store it again.
    """

    hold_above: Annotated[int, Percent("100%")] | None = None
    """Largest share of a range's records that may go to quarantine. Above it the partition is held until somebody
    raises or removes the limit (docs/operations.md).
    """

    keep_value: Flag | None = None
    """Whether value, key and headers of a refused record are stored. `false`: nobody can replay it; only with format
    `parquet`. Default: `true`; a schema that hides fields requires a decision.
    """

    @rule(
        "!has(self.keepValue) || self.keepValue || $format == 'parquet'",
        "needs format parquet, which has a column for the reason",
        "set spec.parser.quarantine.format to parquet",
        "keepValue",
    )
    def _what_is_left_of_a_record_has_columns(self) -> bool:
        return self.keep_value is not False or self.format == "parquet"


def _framing_of(before: Mapping[str, Any]) -> Framing:
    return usual_framing(before["type"])


class ParserSpec(Model):
    """What values must be. A change of it is a new ``generation`` for readers that count on it."""

    type: Parser = "bytes"
    """What values are. `bytes`: anything, unchecked. `json`: one document, with `spec.schema` one object. `avro`,
    `protobuf`: one record or message. `thrift`: one struct. `messagepack`: one map. `csv`: one record. `regex`: a text
    that a pattern matches. Others are stored in quarantine (docs/parsers.md).
    """

    unknown_fields: UnknownFields = "drop"
    """Fields that `spec.schema` does not name, at every depth. `drop` leaves them out; `keep` stores them as one JSON
    object in `restColumn` (`json`, `messagepack`, `csv`); `refuse` stores the record in quarantine (`json`,
    `messagepack`).
    """

    rest_column: FieldName | None = None
    """Name of the column that `unknownFields: keep` adds. Default: `_rest`."""

    faults: FaultsSpec = FaultsSpec()
    """What becomes of values that do not fit (docs/schemas.md#values-that-do-not-fit). Only with a schema; with `avro`,
    `protobuf` and `thrift` only `overflow` and `badText`."""

    framing: Framing = Field(default_factory=_framing_of)
    """Header of Avro, protobuf and JSON values. `confluent`: a zero byte and an id of 4 bytes. `apicurio`: the same
    with 8 bytes. `glue`: the 18 bytes of AWS Glue. `singleObject`: Avro's own. `plain`: none. Default: `confluent` with
    `avro` and `protobuf`, else `plain`.
    """

    thrift: ThriftSpec | None = None
    """How values of parser `thrift` are written. Only with `thrift`."""

    csv: CsvSpec | None = None
    """How values of parser `csv` are written. Only with `csv`."""

    regex: RegexSpec | None = None
    """How values of parser `regex` are read. Needed with `regex`, and only with it."""

    quarantine: QuarantineSpec = QuarantineSpec()
    """How the records that the parser refuses are stored. Only with a parser that refuses values."""

    @property
    def names_schemas(self) -> bool:
        """Whether values say by which schema they were written, and are read by that."""
        return self.type in REGISTERED and self.framing != "plain"

    @property
    def framing_of_documents(self) -> Framing:
        """What stands before JSON values, of which a field may be the type; `plain` with other parsers."""
        return self.framing if self.type == "json" else "plain"

    @property
    def rest(self) -> str | None:
        """Name of the column of what the schema does not name; None: there is none."""
        return (self.rest_column or REST) if self.unknown_fields == "keep" and self.type in KEEPING else None

    @property
    def has_quarantine(self) -> bool:
        """Whether it may refuse records."""
        return self.type != "bytes"

    @property
    def keeps_all_in_quarantine(self) -> bool:
        """Whether what it refuses is stored as Parquet with all of a record, whatever the output is."""
        return self.has_quarantine and self.quarantine.format == "parquet"

    def keeps_refused_values(self, *, hides: bool) -> bool:
        """Whether values that it refuses are stored.

        `hides`: the schema hides fields. Then a manifest that does not decide holds ranges with such values; whoever
        releases one later does it by another manifest, and the values are left out.
        """
        kept = self.quarantine.keep_value
        return not hides if kept is None else kept

    @rule(
        "!has(self.framing) || self.framing == 'plain' || $type in ['avro', 'protobuf', 'json']",
        "is no framing of values of this parser, which have no header",
        "remove it, or set spec.parser.type to avro, protobuf or json",
        "framing",
    )
    def _a_header_is_before_some_kinds_of_values(self) -> bool:
        return self.framing == "plain" or self.type in FRAMED

    @rule(
        "!has(self.framing) || self.framing != 'singleObject' || $type == 'avro'",
        "is a framing of Avro values",
        "write confluent, apicurio, glue or plain",
        "framing",
    )
    def _single_objects_are_of_avro(self) -> bool:
        return self.framing != "singleObject" or self.type == "avro"

    @rule(
        "has(self.regex) || $type != 'regex'",
        "is missing, and parser regex needs a pattern",
        "set spec.parser.regex.pattern (docs/schemas.md#regular-expressions)",
        "regex",
    )
    def _regex_has_a_pattern(self) -> bool:
        return self.regex is not None or self.type != "regex"

    @rule(
        "$unknownFields == 'drop' || !($type in ['avro', 'protobuf', 'thrift'])",
        "is not possible with this parser: the schema of each value says which fields it has",
        "remove it; to store further fields, name them as columns (docs/schemas.md#unknown-fields)",
        "unknownFields",
    )
    def _schemas_of_writers_know_their_fields(self) -> bool:
        return self.unknown_fields == "drop" or self.type not in WRITTEN

    @rule(
        NotInCel("comparing so many names costs more than the API server allows"),
        "has a column that is named by a number, as further columns of values are in the column of what is kept",
        "give it another name",
        *("csv", "columns"),
    )
    def _further_columns_have_names_of_their_own(self) -> bool:
        names = () if self.csv is None or self.unknown_fields != "keep" else self.csv.columns or ()
        return not any(one.isdecimal() for one in names)

    @rule(
        f"!has(self.faults) || !($type in {cel_literal(WRITTEN)}) || (!has(self.faults.wrongType)"
        " || self.faults.wrongType == 'refuse') && (!has(self.faults.duplicates) || self.faults.duplicates == 'refuse')"
        " && (!has(self.faults.invalidUtf8) || self.faults.invalidUtf8 == 'refuse')",
        "has choices that this parser does not have: the schema of each value says its types",
        "keep overflow and badText only",
        "faults",
    )
    def _values_of_schemas_have_their_types(self) -> bool:
        faults = self.faults
        chosen = (faults.wrong_type, faults.duplicates, faults.invalid_utf8)
        return self.type not in WRITTEN or chosen == ("refuse", "refuse", "refuse")

    @rule(
        "$faults.wrongType != 'convert' || !($type in ['csv', 'regex'])",
        "is done anyway with lines of text, where all values are text",
        "write refuse or setNull",
        *("faults", "wrongType"),
    )
    def _lines_are_converted_anyway(self) -> bool:
        return self.faults.wrong_type != "convert" or self.type not in ("csv", "regex")
