"""Rows of values whose writers have schemas of their own: what Avro and protobuf have in common.

The native parser resolves each writer's schema against the columns once, and names ids of which it knows nothing.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Protocol, cast

import pyarrow as pa

from logpersister.manifest.parser import Framing
from logpersister.records.parsers import Parsed
from logpersister.records.rows import parsed_of
from logpersister.records.writers import ID_BYTES, Writers, can_exist


class _Native(Protocol):
    """A native parser."""

    def parse(
        self, values: "pa.BinaryArray"
    ) -> "tuple[pa.RecordBatch, pa.UInt8Array, pa.StringArray, Sequence[int]]": ...

    def refuse_writer(self, writer_id: int) -> None: ...


class ResolvedRows(ABC):
    """Each value is a header, if any, and what its writer's schema says. Null values become no row.

    Thread-safe as far as `writers` is.
    """

    def __init__(self, native: _Native, framing: Framing, writers: Writers | None) -> None:
        """Learn no schema yet.

        Args:
            native: makes the columns.
            framing: what stands before values.
            writers: by which schemas they were written; None where no header names one.
        """
        self._writers = writers
        self._framing = framing
        self.__native = native
        self._problems: dict[int, str] = {}
        """Why values of these ids are refused, whose schemas are known."""

    def parse(self, batch: pa.RecordBatch) -> Parsed:
        """Return what the values become; may raise what `writers` raises."""
        values = cast("pa.BinaryArray", batch.column("value"))
        accepted, codes, fields, unknown = self.__native.parse(values)
        nobodys = self._learn(unknown)
        if len(nobodys) < len(unknown):
            accepted, codes, fields, _ = self.__native.parse(values)
        parsed = parsed_of(accepted, codes, fields)
        if parsed.refused is None:
            return parsed
        return parsed.because(self._why(values[int(parsed.refused.rows[0])].as_py(), nobodys))

    def _learn(self, ids: Sequence[int]) -> Mapping[int, str]:
        """Learn what ids mean; return why nobody knows the others."""
        nobodys = {one: f"no schema can have the id {one}" for one in ids if not can_exist(one, self._framing)}
        asked = [one for one in ids if one not in nobodys]
        if not asked:
            return nobodys
        assert self._writers is not None
        for writer_id, schema in self._writers.schemas(asked).items():
            if schema.is_unknown:
                nobodys[writer_id] = schema.problem
                continue
            problem = schema.problem if schema.text is None else self._add(writer_id, schema.text)
            if problem:
                self._problems[writer_id] = problem
                self.__native.refuse_writer(writer_id)
        return nobodys

    @abstractmethod
    def _add(self, writer_id: int, text: str) -> str:
        """Read values of an id by a schema; return why that cannot be done, if it cannot."""

    def _why(self, value: bytes, nobodys: Mapping[int, str]) -> str | None:
        """Return what is known of the schema of a value that was refused."""
        writer_id = self._id(value)
        return self._problems.get(writer_id) or nobodys.get(writer_id)

    def _id(self, value: bytes) -> int:
        return int.from_bytes(value[1 : 1 + ID_BYTES[self._framing]], "big")
