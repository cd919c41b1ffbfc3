"""The copies of a store: further stores that get each archive of a finished folder (docs/archives.md#copies)."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Final

from logpersister.manifest.blocks.storage import CopiedStorageSpec
from logpersister.manifest.secrets import Secrets
from logpersister.storage.connection import Timeouts
from logpersister.storage.errors import StorageError
from logpersister.storage.names import object_address
from logpersister.storage.store import ObjectStore, store_of

OF_A_COPY: Final = Timeouts(attempts=3)
"""Who writes to a copy tries again by itself, with longer pauses."""
STORAGE: Final = "spec.storage"
"""Field of the primary store."""


@dataclass(frozen=True, slots=True)
class Copy:
    """A copy of the primary store."""

    number: int
    """From 1, as ``--store`` takes it."""
    store: ObjectStore

    @property
    def field(self) -> str:
        """Field of the manifest that has it."""
        return f"{STORAGE}.copies[{self.number - 1}]"

    def __str__(self) -> str:
        return f"copy {self.number} ({object_address(self.store.storage.bucket, self.store.prefix)})"

    @contextmanager
    def named(self) -> Iterator[None]:
        """Let errors of the storage say which copy they are of, and name its fields."""
        try:
            yield
        except StorageError as error:
            told = f"{self}: {str(error).replace(STORAGE, self.field)}"
            raise StorageError(error.kind, told, retriable=error.retriable, code=error.code) from error


@contextmanager
def open_copies(
    storage: CopiedStorageSpec, secrets: Secrets, timeouts: Timeouts = OF_A_COPY
) -> Iterator[Sequence[Copy]]:
    """Open the copies; nothing is connected, and no Secret is read, before one is used."""
    with ExitStack() as stack:
        yield [
            Copy(number, stack.enter_context(store_of(spec, secrets, timeouts=timeouts)))
            for number, spec in enumerate(storage.copies, 1)
        ]
