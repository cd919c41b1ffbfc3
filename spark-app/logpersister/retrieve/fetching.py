"""Fetches objects into files, several at once. A file is whole or not there; one that is whole is not fetched again."""

import os
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from enum import Enum, auto
from functools import partial
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Final

from logpersister.formats.archive.read import compression_of, files_in
from logpersister.formats.damage import ContentError
from logpersister.storage.errors import StorageError
from logpersister.storage.imprint import Imprint
from logpersister.storage.store import READ_BYTES, ObjectStore


def is_archive(file: Path) -> bool:
    """Whether a file is an archive by its name."""
    return compression_of(file.name) is not None


def unpack(file: Path) -> int:
    """Write the files of an archive beside it, each whole or not at all; return how many.

    Raises `ContentError`, OSError.
    """
    count = 0
    with file.open("rb") as content:
        pieces: Iterable[bytes] = iter(partial(content.read, READ_BYTES), b"")
        for name, seconds, value in files_in(compression_of(file.name) or "none", pieces):
            begun = file.with_name(f".{name}.part")
            try:
                begun.write_bytes(value)
                os.utime(begun, (seconds, seconds))
                begun.replace(file.with_name(name))
            finally:
                begun.unlink(missing_ok=True)
            count += 1
    return count


ATTEMPTS: Final = 3
"""How often an object is read of which a copy is not what the storage says of it."""
TICK_SECONDS: Final = 0.5
_CHANGED: Final = frozenset({"PreconditionFailed", "NoSuchKey", "InvalidRange"})
"""What a storage says where an object was replaced or deleted while it was read, or where its end was damaged."""
AHEAD: Final = 2


class Outcome(Enum):
    """What became of an object."""

    FETCHED = auto()
    HAD = auto()
    """The file was there, and whole."""
    FOREIGN = auto()
    """The object is of another group or program."""
    GONE = auto()
    """The object was deleted after it had been listed."""
    FAILED = auto()


@dataclass(frozen=True, slots=True)
class Fetched:
    """An object, and what became of it."""

    key: str
    outcome: Outcome
    bytes: int = 0
    is_summed: bool = True
    """Whether more than its size was compared."""
    problem: str = ""


class StoppedError(Exception):
    """The command ends; what was begun is not continued."""


class Fetcher:
    """Fetches the objects of one group."""

    def __init__(self, store: ObjectStore, group: str, *, unpacks: bool = False) -> None:
        self._store = store
        self._group = group
        self._unpacks = unpacks
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        self.received = 0
        """Bytes that have come so far."""

    def fetch_each(
        self, files: Mapping[str, Path], threads: int, tick: Callable[[], None]
    ) -> Generator[Fetched, None, None]:
        """Fetch objects into files; yield what became of each, in any order. Raises StorageError, OSError.

        `tick` is called now and then. Close the generator when not all of it is wanted.
        """
        remaining = iter(files.items())
        pending: set[Future[Fetched]] = set()
        with ThreadPoolExecutor(threads, thread_name_prefix="fetch") as pool:
            try:
                while True:
                    some = islice(remaining, threads * AHEAD - len(pending))
                    pending |= {pool.submit(self.fetch, key, file) for key, file in some}
                    if not pending:
                        return
                    done, pending = wait(pending, TICK_SECONDS, FIRST_COMPLETED)
                    tick()
                    for one in done:
                        yield one.result()
            finally:
                self._stopped.set()
                pool.shutdown(cancel_futures=True)

    def fetch(self, key: str, file: Path) -> Fetched:
        """Fetch an object into a file. Raises StorageError, OSError, StoppedError."""
        for _ in range(ATTEMPTS):
            imprint = self._store.imprint(key)
            if imprint is None:
                return Fetched(key, Outcome.GONE)
            if imprint.metadata.get("group") != self._group:
                return Fetched(key, Outcome.FOREIGN)
            if self._is_whole(file, imprint):
                return self._unpacked(Fetched(key, Outcome.HAD, imprint.size, imprint.is_summed), file)
            try:
                whole = self._write(key, file, imprint)
            except StorageError as error:
                if error.code in _CHANGED:
                    continue
                if error.kind not in ("rejected", "other"):
                    raise
                return Fetched(key, Outcome.FAILED, problem=str(error))
            if whole:
                return self._unpacked(Fetched(key, Outcome.FETCHED, imprint.size, imprint.is_summed), file)
        problem = f"object {key!r}: what was read is not what the storage says of it by size and checksum"
        return Fetched(key, Outcome.FAILED, problem=f"{problem}; logpersister verify --deep tells more")

    def _unpacked(self, fetched: Fetched, file: Path) -> Fetched:
        if not self._unpacks or not is_archive(file):
            return fetched
        try:
            unpack(file)
        except ContentError as error:
            problem = f"object {fetched.key!r} cannot be unpacked: {error}"
            return replace(fetched, outcome=Outcome.FAILED, problem=problem)
        return fetched

    def _is_whole(self, file: Path, imprint: Imprint) -> bool:
        if not file.is_file() or file.stat().st_size != imprint.size:
            return False
        with file.open("rb") as content:
            return imprint.is_of(self._going_on(iter(partial(content.read, READ_BYTES), b"")))

    def _write(self, key: str, file: Path, imprint: Imprint) -> bool:
        """Write the file under another name, and give it its own if it is whole."""
        file.parent.mkdir(parents=True, exist_ok=True)
        begun = file.with_name(f".{file.name}.part")
        try:
            with begun.open("wb") as out, closing(self._store.read(key)) as content:
                whole = imprint.is_of(self._written(content, out))
            if whole:
                begun.replace(file)
                return True
        finally:
            with suppress(OSError):
                begun.unlink(missing_ok=True)
        return False

    def _written(self, content: Iterable[bytes], out: BinaryIO) -> Iterator[bytes]:
        for data in self._going_on(content):
            out.write(data)
            with self._lock:
                self.received += len(data)
            yield data

    def _going_on(self, content: Iterable[bytes]) -> Iterator[bytes]:
        for data in content:
            if self._stopped.is_set():
                raise StoppedError
            yield data
