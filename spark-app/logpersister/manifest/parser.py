"""``spec.parser``: what values must be; records whose values are not are stored apart, in quarantine."""

from typing import Literal

from logpersister.manifest.constraint import Model

Parser = Literal["bytes", "json"]
UnknownFields = Literal["drop", "refuse"]


class ParserSpec(Model):
    """What values must be. A change of it is a new ``generation`` for readers that count on it."""

    type: Parser = "bytes"
    """`bytes`: any value, unchecked. `json`: each value must be one JSON document (RFC 8259, UTF-8, nested at most 128
    deep), or with `spec.schema` one JSON object with these fields (docs/schemas.md); records with other values are
    stored unchanged in the topic's folder `_quarantine` (docs/parsers.md). Null values are never parsed."""

    unknown_fields: UnknownFields = "drop"
    """Treatment of fields that `spec.schema` does not name, at every depth. `drop` leaves them out of the columns;
    `refuse` stores the record in quarantine. Only with a schema."""

    @property
    def has_quarantine(self) -> bool:
        """Whether it may refuse records."""
        return self.type != "bytes"
