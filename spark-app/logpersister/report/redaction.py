"""The last line of defence against secrets in logs. The first one is that nobody logs them.

Three nets: values that are registered (`Redactor.hide`), fields whose names say that they are secret, and phrases that
look like credentials in texts of other libraries (URLs with a password, ``password=…``, signed AWS URLs).
"""

import re
import threading
from collections.abc import Mapping, MutableMapping
from typing import Any, Final

from logpersister.manifest.secrets import HIDDEN

MIN_LENGTH: Final = 4
"""Shorter registered values are not searched in texts: they would blank half of every line."""
_DEPTH: Final = 6

_SECRET_FIELD: Final = re.compile(
    r"(^|[_.\-])(password|passwd|passphrase|secret|secret[_-]?(access[_-]?)?key|access[_-]?key([_-]?id)?"
    r"|private[_-]?key|api[_-]?key|session[_-]?token|(access_|bearer_|refresh_)?token|authorization|credentials?)$",
    re.IGNORECASE,
)
_PHRASES: Final = (
    # user:password@ in a URL
    (re.compile(r"(?P<keep>[a-z][a-z0-9+.\-]*://[^\s/:@]*:)[^\s/@]+(?=@)", re.IGNORECASE), r"\g<keep>" + HIDDEN),
    # password=..., "secret_key": "...", sasl_plain_password='...'
    (
        re.compile(
            r"(?P<keep>\b[\w.\-]*(?:password|passwd|passphrase|secret(?:_?access)?_?key|client_?secret|session_?token"
            r"|access_?token|api_?key)[\"']?\s*[=:]\s*[\"']?)[^\s\"',;&})]+",
            re.IGNORECASE,
        ),
        r"\g<keep>" + HIDDEN,
    ),
    (re.compile(r"(?P<keep>\b(?:Bearer|Basic)\s+)[A-Za-z0-9._~+/=\-]{8,}"), r"\g<keep>" + HIDDEN),
    (
        re.compile(r"(?P<keep>\b(?:X-Amz-(?:Signature|Credential|Security-Token)|Signature)=)[^\s&,\"']+"),
        r"\g<keep>" + HIDDEN,
    ),
    (re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL), HIDDEN),
)


class Redactor:
    """A structlog processor; also usable on plain text. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._values: tuple[str, ...] = ()

    def hide(self, *values: str) -> None:
        """Keep these values out of every later log line, also inside longer texts."""
        with self._lock:
            known = {*self._values, *(value for value in values if len(value) >= MIN_LENGTH)}
            # Longest first, so that a value which contains another one vanishes whole.
            self._values = tuple(sorted(known, key=len, reverse=True))

    def text(self, text: str) -> str:
        for value in self._values:
            text = text.replace(value, HIDDEN)
        for pattern, replacement in _PHRASES:
            text = pattern.sub(replacement, text)
        return text

    def __call__(self, _logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        for name in event:
            event[name] = self._field(name, event[name], 0)
        return event

    def _field(self, name: str, value: Any, depth: int) -> Any:
        if _SECRET_FIELD.search(name) and value is not None and not isinstance(value, bool):
            return HIDDEN
        return self._value(value, depth)

    def _value(self, value: Any, depth: int) -> Any:
        if value is None or isinstance(value, int | float):
            return value
        if isinstance(value, str):
            return self.text(value)
        if depth < _DEPTH:
            if isinstance(value, Mapping):
                return {str(name): self._field(str(name), item, depth + 1) for name, item in value.items()}
            if isinstance(value, list | tuple | set | frozenset):
                return [self._value(item, depth + 1) for item in value]
        # Anything else would be written by its str or repr: write it here, where it can be searched.
        return self.text(str(value))
