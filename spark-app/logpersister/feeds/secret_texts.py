"""Texts of a manifest with ``${secret:name/key}`` in them, as they are sent: read again while the process runs."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

import structlog

from logpersister.forms.problems import ManifestError, Problem
from logpersister.manifest.blocks.feeds import SECRET
from logpersister.manifest.secrets import AUTHORITY, Secrets
from logpersister.report import logs

log = structlog.get_logger(__name__)

FRESH_SECONDS: Final = 30.0
"""How long a value is used before its Secret is read again."""


class SecretValues:
    """Values of Secrets, each read at most once in `FRESH_SECONDS`."""

    def __init__(self, secrets: Secrets, clock: Callable[[], float] = time.monotonic) -> None:
        self._secrets = secrets
        self._clock = clock
        self._known: dict[tuple[str, str], tuple[float, str]] = {}
        """When what was used last was read or looked for, and what it is; certificates are by the key `AUTHORITY`."""

    def value(self, name: str, key: str, path: str) -> str:
        """Return a value as it is now, or was a moment ago; one that cannot be used now is used as it was.

        Raises `ManifestError`, with the field that names it, for one that never could be used.
        """
        return self._recent(name, key, lambda: self._text(name, key, path))

    def authority(self, name: str, path: str) -> str:
        """Return the certificates of an authority like a value."""
        return self._recent(name, AUTHORITY, lambda: self._certificates(name, path))

    def _recent(self, name: str, key: str, read: Callable[[], str]) -> str:
        known, now = self._known.get((name, key)), self._clock()
        if known is not None and now - known[0] < FRESH_SECONDS:
            return known[1]
        try:
            text = read()
        except ManifestError as error:
            if known is None:
                raise
            log.warning("secret.refused", secret=f"{name}/{key}", error=f"{error}; the value before is used until then")
            text = known[1]
        self._known[name, key] = now, text
        return text

    def _text(self, name: str, key: str, path: str) -> str:
        text = self._secrets.require(name, key, path).reveal()
        if not all(" " <= sign <= "~" for sign in text):
            problem = "names a Secret whose value has characters other than printable ones of ASCII"
            raise ManifestError([Problem(path, f"{problem} ({name}/{key})", "correct the Secret")])
        escaped = quote(text, safe="")
        if escaped != text:
            logs.redactor.hide(escaped)  # as URLs have it, which servers may repeat
        return text

    def _certificates(self, name: str, path: str) -> str:
        self._secrets.require(name, AUTHORITY, path)
        return self._secrets.authority(name, path) or ""


@dataclass(frozen=True, slots=True)
class SecretText:
    """One text of a manifest."""

    text: str
    values: SecretValues
    path: str
    """Field of the manifest that has it; empty for a text without Secrets."""
    is_url: bool = False
    """Whether values are escaped so that they cannot change what a URL means."""

    @classmethod
    def of(cls, text: str, path: str, values: SecretValues, *, is_url: bool = False) -> "SecretText":
        return cls(text, values, path if "${" in text else "", is_url)

    def reveal(self) -> str:
        """Return the text with the values in it, to be sent and for nothing else.

        Raises `ManifestError` when a Secret has no such key, or one that cannot be sent.
        """
        if not self.path:
            return self.text
        return SECRET.sub(lambda found: self._escaped(found["name"], found["key"]), self.text)

    def _escaped(self, name: str, key: str) -> str:
        value = self.values.value(name, key, self.path)
        return quote(value, safe="") if self.is_url else value
