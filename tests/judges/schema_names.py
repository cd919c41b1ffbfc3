"""The names of schemas found once more, value by value in plain Python; docs/types.md says what they are.

No code that finds types for members is in it.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from logpersister.manifest.parser import ParserSpec
from logpersister.manifest.protobuf.errors import ProtobufError
from logpersister.manifest.protobuf.schema import read_schema
from logpersister.manifest.row_schema import SchemaSpec
from logpersister.records.writers import Writers, can_exist, for_framing
from tests.judges import headers, protobuf_header
from tests.judges.avro_fingerprint import fingerprint
from tests.judges.avro_input import Cursor
from tests.judges.protobuf_header import selected
from tests.judges.refusal import RefusalError

_NameOf = Callable[[bytes], str | None]


@dataclass(frozen=True)
class SchemaNameOracle:
    """Tells by which record or message values were written."""

    parser: ParserSpec
    schema: SchemaSpec | None
    writers: Writers | None

    def name(self, value: bytes) -> str | None:
        """Return the name; None: there is none. Raises `RefusalError` where nobody knows the schema."""
        try:
            schema_id = headers.id_of(value, self.parser.framing)
            if self.parser.type == "protobuf":
                protobuf_header.begin(value, self.parser.framing)
        except RefusalError:
            return None
        return (self._known.get(schema_id) or self._learnt(schema_id))(value)

    @cached_property
    def _known(self) -> dict[int, _NameOf]:
        texts = () if self.schema is None else self.schema.written_by(self.parser.framing)
        found = {fingerprint(text): self._record_by(text) for text in texts}
        return {schema_id: name for schema_id, name in found.items() if schema_id is not None}

    @cached_property
    def _asked(self) -> Writers | None:
        registry = None if self.schema is None else self.schema.registry
        return for_framing(self.writers, self.parser.framing, None if registry is None else registry.subject)

    def _learnt(self, schema_id: int) -> _NameOf:
        if self._asked is None or not can_exist(schema_id, self.parser.framing):
            raise RefusalError("unknown_schema")
        found = self._asked.schemas([schema_id])[schema_id]
        if found.is_unknown:
            raise RefusalError("unknown_schema")
        by_text = self._message_by if self.parser.type == "protobuf" else self._record_by
        self._known[schema_id] = _nameless if found.text is None else by_text(found.text)
        return self._known[schema_id]

    def _record_by(self, text: str) -> _NameOf:
        try:
            schema = json.loads(text)
        except (ValueError, RecursionError):
            return _nameless
        if not isinstance(schema, list):
            return lambda _: _full_name(schema)

        def of_branch(value: bytes) -> str | None:
            try:
                place = Cursor(headers.begin(value, self.parser.framing, 10)[1]).place(len(schema))
            except RefusalError:
                return None
            return _full_name(schema[place])

        return of_branch

    def _message_by(self, text: str) -> _NameOf:
        try:
            schema = read_schema(text)
        except ProtobufError:
            return _nameless

        def of_message(value: bytes) -> str | None:
            _, selector = protobuf_header.begin(value, self.parser.framing)
            try:
                return selected(schema, selector, None)
            except RefusalError:
                return None

        return of_message


def _nameless(_: bytes) -> None:
    return None


def _full_name(schema: Any) -> str | None:
    match schema:
        case {"type": "record" | "error", "name": str(name)}:
            pass
        case _:
            return None
    if "." in name:
        return name
    namespace = schema.get("namespace")
    if namespace is not None and not isinstance(namespace, str):
        return None
    return ".".join(filter(None, (namespace, name)))
