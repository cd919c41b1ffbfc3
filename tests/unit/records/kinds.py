"""Parsers of values of each kind that is known by its settings alone."""

from logpersister.values.csv.block import CsvSpec
from logpersister.values.faults import REFUSED, FaultsSpec
from logpersister.values.parser import Parsing, Protocol, UnknownFields
from logpersister.values.reading.parsers import Parser
from logpersister.values.regex.block import RegexSpec
from logpersister.values.row_schema import RowSchema
from logpersister.values.rows import rows_of


def of_json(schema: RowSchema, unknown: UnknownFields = "drop", faults: FaultsSpec = REFUSED) -> Parser:
    return rows_of(Parsing(type="json", unknown_fields=unknown, faults=faults), schema)


def of_messagepack(schema: RowSchema, unknown: UnknownFields = "drop", faults: FaultsSpec = REFUSED) -> Parser:
    return rows_of(Parsing(type="messagepack", unknown_fields=unknown, faults=faults), schema)


def of_thrift(schema: RowSchema, protocol: Protocol) -> Parser:
    return rows_of(Parsing(type="thrift", protocol=protocol), schema)


def of_csv(schema: RowSchema, syntax: CsvSpec, unknown: UnknownFields = "drop", faults: FaultsSpec = REFUSED) -> Parser:
    return rows_of(Parsing(type="csv", syntax=syntax, unknown_fields=unknown, faults=faults), schema)


def of_regex(schema: RowSchema, regex: RegexSpec, faults: FaultsSpec = REFUSED) -> Parser:
    return rows_of(Parsing(type="regex", syntax=regex, faults=faults), schema)
