"""Content of a body: what two downloads are compared by. Pure."""

import hashlib
import json
from collections.abc import Callable
from typing import Any

from logpersister.manifest.blocks.feeds import ContentSpec

Digest = Callable[[bytes], bytes]
"""Returns the SHA-256 of what of a body is content."""


def digest_of(content: ContentSpec) -> Digest | None:
    """Return the rule; None: all bytes are content."""
    if content.json_pointer is not None:
        steps = [step.replace("~1", "/").replace("~0", "~") for step in content.json_pointer.split("/")[1:]]
        return lambda body: hashlib.sha256(_part(body, steps)).digest()
    if content.without is not None:
        leave_out = _leaving_out(content.without)
        return lambda body: hashlib.sha256(leave_out(body)).digest()
    return None


def takes(types: tuple[str, ...], content_type: str) -> bool:
    """Whether a body of a content type is wanted."""
    media_type = content_type.partition(";")[0].strip().lower()
    return not types or media_type in types or f"{media_type.partition('/')[0]}/*" in types


def _part(body: bytes, steps: list[str]) -> bytes:
    """Return the part of a JSON document; the whole body if it is none, or lacks the part: then it differs."""
    try:
        found: Any = json.loads(body)
        for step in steps:
            found = found[int(step)] if isinstance(found, list) else found[step]
    except (ValueError, LookupError, TypeError, RecursionError):
        return body
    return json.dumps(found, separators=(",", ":"), ensure_ascii=False, sort_keys=True).encode("utf-8", "surrogatepass")


def _leaving_out(pattern: str) -> Callable[[bytes], bytes]:
    """Return what removes a pattern, in time that is linear in the body: RE2, because patterns are written by users."""
    import pyarrow as pa  # noqa: PLC0415 - 40 MB that other collectors do not need
    import pyarrow.compute as pc  # noqa: PLC0415

    replace: Any = pc.replace_substring_regex  # whose stubs know texts only

    def leave_out(body: bytes) -> bytes:
        found: Any = replace(pa.array([body], pa.binary()), pattern=pattern, replacement="")
        kept: bytes = found[0].as_py()
        return kept

    leave_out(b"")  # raises for a pattern that it does not take
    return leave_out
