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
from logpersister.records.writers import ID_BYTES, Writers, can_exist
from logpersister.verify.avro_input import Cursor
from logpersister.verify.protobuf_header import selected, split
from logpersister.verify.refusal import RefusalError

_NameOf = Callable[[bytes], str | None]


@dataclass(frozen=True)
class SchemaNameOracle:
    """Tells by which record or message values were written."""

    parser: ParserSpec
    writers: Writers

    def name(self, value: bytes) -> str | None:
        """Return the name; None: there is none. Raises `RefusalError` where nobody knows the schema."""
        size = 1 + ID_BYTES[self.parser.framing]
        if value[:1] != b"\0" or len(value) < size:
            return None
        if self.parser.type == "protobuf":
            try:
                split(value, self.parser.framing)
            except RefusalError:
                return None
        schema_id = int.from_bytes(value[1:size], "big")
        return (self._known.get(schema_id) or self._learnt(schema_id))(value)

    @cached_property
    def _known(self) -> dict[int, _NameOf]:
        return {}

    def _learnt(self, schema_id: int) -> _NameOf:
        if not can_exist(schema_id, self.parser.framing):
            raise RefusalError("unknown_schema")
        found = self.writers.schemas([schema_id])[schema_id]
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
                place = Cursor(value[1 + ID_BYTES[self.parser.framing] :]).place(len(schema))
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
            _, selector, _ = split(value, self.parser.framing)
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
