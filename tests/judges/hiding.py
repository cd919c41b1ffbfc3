"""Fields that are not stored as they are, hidden once more in plain Python; no code of the native parser is in it."""

import hashlib
import hmac
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from logpersister.manifest.hiding_key import key_of
from logpersister.manifest.row_schema import SchemaSpec
from logpersister.manifest.secrets import Secrets
from tests.judges.rows import Oracle, Row

Hide = Callable[[Any], str]


@dataclass(frozen=True)
class HidingOracle(Oracle):
    """Rows of another one, with hidden fields."""

    schema: SchemaSpec
    inner: Oracle
    fields: tuple[tuple[str, Hide], ...]

    def row(self, value: bytes) -> Row:
        return self._hidden(self.inner.row(value))

    def row_of_record(self, key: bytes | None, value: bytes | None) -> Row | None:
        found = self.inner.row_of_record(key, value)
        return None if found is None else self._hidden(found)

    def _hidden(self, found: Row) -> Row:
        row = dict(found)
        for path, hide in self.fields:
            _hide(row, path.split("."), hide)
        return row


def hiding(oracle: Oracle, schema: SchemaSpec) -> Oracle:
    """Return an oracle that hides what a schema asks for. Raises ManifestError when the key is not there."""
    fields = list[tuple[str, Hide]]()
    if schema.hash is not None:
        key = key_of(schema.hash, Secrets()).reveal().encode()
        fields += [(path, partial(_hash, key)) for path in schema.hash.fields]
    for one in schema.mask:
        fields += [(path, partial(_mask, one.keep_last)) for path in one.fields]
    return HidingOracle(schema, oracle, tuple(fields)) if fields else oracle


def _hide(row: dict[str, Any], path: list[str], hide: Hide) -> None:
    name, *below = path
    found = row[name]
    if found is None:
        return
    if below:
        row[name] = dict(found)
        _hide(row[name], below, hide)
    else:
        row[name] = hide(found)


def _hash(key: bytes, value: str | int) -> str:
    return hmac.new(key, str(value).encode(), hashlib.sha256).hexdigest()


def _mask(last: int, text: str) -> str:
    return "***" + (text[-last:] if last and len(text) >= 2 * last else "")
