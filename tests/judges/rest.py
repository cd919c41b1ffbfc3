"""What a schema does not name as one JSON object, made once more."""

from collections.abc import Iterable


def joined(members: Iterable[tuple[str, str | None]]) -> str | None:
    """Return an object of names in quotes and texts; None for those that have none, and if it would have no members."""
    found = [f"{name}:{text}" for name, text in members if text is not None]
    return f"{{{','.join(found)}}}" if found else None
