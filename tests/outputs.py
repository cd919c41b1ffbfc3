"""``spec.output`` as tests choose it: settings that all formats have, and those of one format in its block."""

from collections.abc import Mapping
from typing import Any

OF_ALL = frozenset({"kafkaColumns", "tombstones"})


def output_in(file_format: str, settings: Mapping[str, Any], **others: Any) -> dict[str, Any]:
    """Return the output in a format with settings, each where the manifest has it."""
    own = {name: value for name, value in settings.items() if name not in OF_ALL}
    shared = {name: value for name, value in settings.items() if name in OF_ALL}
    return {"format": file_format, **others, **shared, **({file_format: own} if own else {})}
