"""Texts of a manifest with ``${secret:name/key}`` in them, as they are sent: read again while the process runs."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

import structlog

from logpersister.forms.problems import ManifestError, Problem
from logpersister.manifest.blocks.feeds import SECRET
from logpersister.manifest.secrets import CurrentSecret, Secrets
from logpersister.report import logs

log = structlog.get_logger(__name__)

FRESH_SECONDS: Final = 30.0
"""How long a value is used before its Secret is read again."""


class SecretValues:
    """Values of Secrets by name and key, each read at most once in `FRESH_SECONDS`."""

    def __init__(self, secrets: Secrets, clock: Callable[[], float] = time.monotonic) -> None:
        self._secrets = secrets
        self._clock = clock
        self._known: dict[tuple[str, str], CurrentSecret] = {}
        self._fresh: dict[tuple[str, str], tuple[float, str]] = {}

    def require(self, name: str, key: str, path: str) -> None:
        """Read a value that must be there; raises `ManifestError`, with the field that names it."""
        if (name, key) in self._known:
            return
        current = CurrentSecret(lambda: self._secrets.require(name, key, path))
        text = current.reveal()
        if not _can_be_sent(text):
            problem = "names a Secret whose value has characters other than printable ones of ASCII"
            raise ManifestError([Problem(path, f"{problem} ({name}/{key})", "correct the Secret")])
        self._known[name, key] = current
        self._keep(name, key, text)

    def value(self, name: str, key: str) -> str:
        """Return a value that was required before, as it is now, or was a moment ago."""
        read, text = self._fresh[name, key]
        if self._clock() - read >= FRESH_SECONDS:
            found = self._known[name, key].reveal()
            if _can_be_sent(found):
                text = found
            else:
                remedy = "correct the Secret: printable ASCII; the value before is used until then"
                log.warning("secret.refused", secret=f"{name}/{key}", remedy=remedy)
            self._keep(name, key, text)
        return text

    def _keep(self, name: str, key: str, text: str) -> None:
        escaped = quote(text, safe="")
        if escaped != text:
            logs.redactor.hide(escaped)  # as URLs have it, which servers may repeat
        self._fresh[name, key] = self._clock(), text


def _can_be_sent(text: str) -> bool:
    return all(" " <= sign <= "~" for sign in text)


@dataclass(frozen=True, slots=True)
class SecretText:
    """One text of a manifest."""

    text: str
    values: SecretValues
    is_url: bool = False
    """Whether values are escaped so that they cannot change what a URL means."""

    @classmethod
    def of(cls, text: str, path: str, values: SecretValues, *, is_url: bool = False) -> "SecretText":
        """Read the Secrets that it names; raises `ManifestError` when one has no such key."""
        for found in SECRET.finditer(text):
            values.require(found["name"], found["key"], path)
        return cls(text, values, is_url)

    def reveal(self) -> str:
        """Return the text with the values in it, to be sent and for nothing else."""
        if "${" not in self.text:
            return self.text
        return SECRET.sub(lambda found: self._escaped(self.values.value(found["name"], found["key"])), self.text)

    def _escaped(self, value: str) -> str:
        return quote(value, safe="") if self.is_url else value
