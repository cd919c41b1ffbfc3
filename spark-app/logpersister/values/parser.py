"""How values are read, as ``spec.value`` says it (`values`)."""

from collections.abc import Mapping
from typing import Any, Final, Literal

from pydantic import Field

from logpersister.forms.constraint import Model
from logpersister.values.faults import REFUSED, FaultsSpec
from logpersister.values.quarantine import QuarantineSpec

Parser = Literal["bytes", "json", "avro", "protobuf", "thrift", "messagepack", "csv", "regex"]
UnknownFields = Literal["drop", "keep", "refuse"]
Framing = Literal["confluent", "apicurio", "glue", "singleObject", "plain"]
Protocol = Literal["binary", "compact"]

REGISTERED: Final[frozenset[Parser]] = frozenset({"avro", "protobuf"})
"""Parsers of values whose writers have schemas of their own."""
REST: Final = "_rest"
"""Name of the column of what is unknown, unless the manifest gives it another one."""


def _framing_of(before: Mapping[str, Any]) -> Framing:
    return "confluent" if before["type"] in REGISTERED else "plain"


class Parsing(Model):
    """How values are read."""

    type: Parser = "bytes"
    framing: Framing = Field(default_factory=_framing_of)
    """What stands before the value. `confluent`: a zero byte and an id of 4 bytes. `apicurio`: the same with 8 bytes.
    `glue`: the 18 bytes of AWS Glue. `singleObject`: Avro's own. `plain`: nothing.
    """
    unknown_fields: UnknownFields = "drop"
    rest_column: str | None = None
    faults: FaultsSpec = REFUSED
    protocol: Protocol = "binary"
    """Protocol of Thrift."""
    syntax: Model | None = None
    """What only one kind has: how its values are written."""
    quarantine: QuarantineSpec = QuarantineSpec()

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
        return (self.rest_column or REST) if self.unknown_fields == "keep" else None

    @property
    def has_quarantine(self) -> bool:
        """Whether it may refuse records."""
        return self.type != "bytes"

    @property
    def keeps_all_in_quarantine(self) -> bool:
        """Whether what it refuses is stored as Parquet with all of a record, whatever the output is."""
        return self.has_quarantine and self.quarantine.keeps_all
