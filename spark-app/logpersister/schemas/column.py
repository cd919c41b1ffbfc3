"""A column of the rows, wherever it is declared. Pure."""

from dataclasses import dataclass

from logpersister.forms.notation import Notation
from logpersister.schemas.types import Member


@dataclass(frozen=True, slots=True)
class Column(Member):
    """A column of the rows."""

    format: Notation | None = None
    """Notation of its timestamps; None: `rfc3339`."""
