"""Rows of values whose writers have schemas of their own: what Avro and protobuf have in common.

The native parser resolves each writer's schema against the columns once, and names ids of which it knows nothing.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar, Final, Protocol, cast

import pyarrow as pa

from logpersister.values.parser import Framing, Parser
from logpersister.values.reading.native_rows import ToldAdjusted, parsed_of
from logpersister.values.reading.parsers import Parsed
from logpersister.values.reading.schema_ids import id_of
from logpersister.values.reading.writers import NO_ID, Writers, can_exist, shown

GIVEN: Final = 0
"""Id of the schema of values without a header."""


class _Native(Protocol):
    """A native parser."""

    def parse(
        self, values: "pa.BinaryArray"
    ) -> "tuple[pa.RecordBatch, pa.UInt8Array, pa.StringArray, ToldAdjusted, Sequence[int]]": ...

    def refuse_writer(self, writer_id: int) -> None: ...


class ResolvedRows(ABC):
    """Each value is a header, if any, and what its writer's schema says. Null values become no row.

    Thread-safe as far as `writers` is.
    """

    kind: ClassVar[Parser]
    """Kind of the values, which their schemas must have."""

    def __init__(self, native: _Native, framing: Framing, writers: Writers | None) -> None:
        """Learn no schema yet.

        Args:
            native: makes the columns.
            framing: what stands before values.
            writers: by which schemas they were written that are not in the manifest; None: all are.
        """
        self._writers = writers
        self._framing = framing
        self.__native = native
        self._problems: dict[int, str] = {}
        """Why values of these ids are refused, whose schemas are known."""

    def parse(self, batch: pa.RecordBatch) -> Parsed:
        """Return what the values become; may raise what `writers` raises."""
        values = cast("pa.BinaryArray", batch.column("value"))
        accepted, codes, fields, told, unknown = self.__native.parse(values)
        nobodys = self._learn(unknown)
        if len(nobodys) < len(unknown):
            accepted, codes, fields, told, _ = self.__native.parse(values)
        parsed = parsed_of(accepted, codes, fields, told)
        if parsed.refused is None:
            return parsed
        return parsed.because(self._why(values[int(parsed.refused.rows[0])].as_py(), nobodys))

    def _learn(self, ids: Sequence[int]) -> Mapping[int, str]:
        """Learn what ids mean; return why nobody knows the others."""
        if self._writers is None:
            return {one: f"the manifest has no {self._told(one)}" for one in ids}
        nobodys = {one: f"no schema can have the id {one}" for one in ids if not can_exist(one, self._framing)}
        if NO_ID in nobodys:
            nobodys[NO_ID] = "the registry has no schema of the GUID that a header of the record names"
        asked = [one for one in ids if one not in nobodys]
        for writer_id, schema in (self._writers.schemas(asked) if asked else {}).items():
            if schema.is_unknown:
                nobodys[writer_id] = schema.problem
            elif schema.text is None:
                self._refuse(writer_id, schema.problem)
            elif schema.kind not in (None, self.kind):
                self._refuse(writer_id, f"{self._told(writer_id)} is of {schema.kind}, and not of {self.kind}")
            else:
                self.learn(writer_id, schema.text)
        return nobodys

    def learn(self, writer_id: int, text: str) -> None:
        """Read values of an id by a schema, or refuse them where that cannot be done."""
        problem = self._add(writer_id, text)
        if problem:
            self._refuse(writer_id, problem)

    def _refuse(self, writer_id: int, problem: str) -> None:
        self._problems[writer_id] = problem
        self.__native.refuse_writer(writer_id)

    def _told(self, writer_id: int) -> str:
        if self._framing == "plain":
            return "the schema of the manifest"
        return f"schema {shown(writer_id, self._framing)}"

    @abstractmethod
    def _add(self, writer_id: int, text: str) -> str:
        """Read values of an id by a schema; return why that cannot be done, if it cannot."""

    def _why(self, value: bytes, nobodys: Mapping[int, str]) -> str | None:
        """Return what is known of the schema of a value that was refused."""
        writer_id = id_of(value, self._framing)
        return None if writer_id is None else self._problems.get(writer_id) or nobodys.get(writer_id)
