"""An object while its records arrive, and while its last bytes are on their way."""

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa

from logpersister.formats.base import Bytes, Encoder
from logpersister.formats.parquet.write import ParquetEncoder
from logpersister.pipeline.summary import Summary
from logpersister.pipeline.work import RangeWork
from logpersister.report.facts import WrittenObject
from logpersister.storage.object_requests import StoredObject


class Upload(Protocol):
    """One object on its way into the bucket."""

    def write(self, data: Bytes) -> None: ...

    def finish_async(self, facts: Mapping[str, str]) -> Future[StoredObject]:
        """Make the object durable and visible; the facts are known only now."""

    def abort(self) -> None: ...


OpenUpload = Callable[[RangeWork, str], Upload]
"""Opens the object of a range and a partition path."""


@dataclass(frozen=True, slots=True)
class Finishing:
    """An object whose last bytes are on their way."""

    path: str
    stored: Future[StoredObject]
    records: int
    table_facts: Mapping[str, Any] | None
    """Facts of the file for a table (`ParquetEncoder.table_facts`)."""

    def result(self) -> WrittenObject:
        stored = self.stored.result()
        return WrittenObject(stored.key, stored.bytes, self.records)


class OpenObject:
    """The object of one path while records arrive."""

    def __init__(self, path: str, encoder: Encoder, upload: Upload) -> None:
        self._path = path
        self._encoder = encoder
        self._upload = upload
        self._summary = Summary()

    def add(self, batch: pa.RecordBatch) -> None:
        self._summary.update(batch)
        self._pass_on(self._encoder.encode(batch))

    def finish(self, unexplained: int) -> Finishing:
        self._pass_on(self._encoder.finish())
        stored = self._upload.finish_async(self._summary.facts(unexplained))
        facts = self._encoder.table_facts() if isinstance(self._encoder, ParquetEncoder) else None
        return Finishing(self._path, stored, self._summary.records, facts)

    def abort(self) -> None:
        self._upload.abort()

    def _pass_on(self, pieces: Iterable[Bytes]) -> None:
        for piece in pieces:
            self._upload.write(piece)
