"""Levels of folders by the key of records, ``key=prices``, and the key in names of files."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Final
from urllib.parse import quote

import pyarrow as pa

from logpersister.records.escaping import shortened
from logpersister.records.field_paths import Indices, named_values

RULES: Final = 1
"""Raise it when a key gets another folder than before."""

NO_KEY: Final = "unknown"
"""Stands for a key that is null or empty."""
MOST_BYTES: Final = 190
"""Longest name: with the longest prefix it is one that each file system takes. A longer one is cut, and ends with a
digest of the whole key."""


@dataclass(frozen=True, slots=True)
class KeyLevel:
    """A level of folders by the key."""

    prefix: str

    def names(self, batch: pa.RecordBatch) -> tuple[list[str], Indices]:
        """Return the names that occur, each once, and for each row the index of its name."""
        return named_values(batch.column("key"), self.prefix, key_name)


@lru_cache(maxsize=4096)
def key_name(key: bytes | None, most: int = MOST_BYTES) -> str:
    """Return a key as part of a name, in ASCII and in `most` bytes; no two keys have the same one."""
    if not key:
        return NO_KEY
    name = quote(key, safe="").replace("~", "%7E")
    if name[0] in "._" or name == NO_KEY:  # hidden files and folders of ours, and no key
        name = f"%{key[0]:02X}{name[1:]}"
    return shortened(name, most, key)
