"""Error of an object in quarantine that cannot be replayed."""

from typing import Final

REMEDY: Final = (
    "while Kafka has its range, store it again in a higher generation. Set spec.quarantine.format to parquet "
    "for those to come"
)
"""Remedy for objects that do not keep all of a record."""


class SourceError(Exception):
    """An object in quarantine that cannot be replayed; the message says why, and what can be done."""
