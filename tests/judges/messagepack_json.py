"""MessagePack as JSON, for what a schema does not name; no code of the native parser is in it."""

import base64
import json
import math
from datetime import datetime, timedelta

from tests.judges.messagepack_input import Node
from tests.judges.protobuf_json import shortest
from tests.judges.refusal import RefusalError

_TIMESTAMP = -1
_NANOSECONDS = 10**9
"""Of a second."""


def value_text(node: Node) -> str:  # noqa: PLR0911 - one for each kind
    """Return a value as JSON."""
    match node.kind:
        case "nil":
            return "null"
        case "bool":
            return "true" if node.content else "false"
        case "integer":
            return str(node.content)
        case "single" | "double":
            return _number(node.content)
        case "text" | "bytes":
            return _text(node.content, is_text=node.kind == "text")
        case "array":
            return f"[{','.join(map(value_text, node.content))}]"
        case "map":
            return f"{{{','.join(f'{key_text(key)}:{value_text(value)}' for key, value in node.content)}}}"
        case "extension":
            return _extension(*node.content)


def key_text(node: Node) -> str:
    """Return a key as JSON, which is text."""
    text = "{" if node.kind in ("array", "map") else value_text(node)
    if text.startswith("{"):
        return _text(node.written, is_text=False)
    return text if text.startswith('"') else quoted(text)


def quoted(text: str) -> str:
    """Return a text as JSON."""
    return json.dumps(text, ensure_ascii=False)


def instant_of(data: bytes) -> tuple[int, int]:
    """Return seconds since 1970 and nanoseconds of a timestamp. Raises `RefusalError`."""
    match len(data):
        case 4:
            return int.from_bytes(data, "big"), 0
        case 8:
            both = int.from_bytes(data, "big")
            return both % 2**34, both >> 34
        case 12:
            return int.from_bytes(data[4:], "big", signed=True), int.from_bytes(data[:4], "big")
    raise RefusalError("wrong_type")


def _text(content: bytes, *, is_text: bool) -> str:
    try:
        if is_text:
            return quoted(content.decode())
    except UnicodeDecodeError:
        pass
    return quoted(base64.b64encode(content).decode())


def _number(number: float) -> str:
    """Return a number with digits alone as far as its point is among the first 16, or 5 zeros before them."""
    if not math.isfinite(number):
        return '"NaN"' if math.isnan(number) else '"Infinity"' if number > 0 else '"-Infinity"'
    found = shortest(number)
    sign, digits, exponent = found.as_tuple()
    assert isinstance(exponent, int)
    text = "".join(map(str, digits)).rstrip("0") or "0"
    point = found.adjusted() + 1 if number else 1
    minus = "-" if sign else ""
    if 0 < point <= 16:
        whole, fraction = text[:point].ljust(point, "0"), text[point:] or "0"
        return f"{minus}{whole}.{fraction}"
    if -5 < point <= 0:
        return f"{minus}0.{'0' * -point}{text}"
    fraction = f".{text[1:]}" if len(text) > 1 else ""
    return f"{minus}{text[0]}{fraction}e{point - 1:+}"


def _extension(type_: int, data: bytes) -> str:
    if type_ == _TIMESTAMP:
        try:
            seconds, nanoseconds = instant_of(data)
            at = datetime(1970, 1, 1) + timedelta(seconds=seconds)  # noqa: DTZ001 - written without a zone
        except (RefusalError, OverflowError):
            nanoseconds = _NANOSECONDS
        else:
            fraction = f".{nanoseconds:09}" if nanoseconds else ""
            if nanoseconds < _NANOSECONDS:
                return f'"{at.isoformat(timespec="seconds")}{fraction}Z"'
    return f'{{"type":{type_},"data":{_text(data, is_text=False)}}}'
