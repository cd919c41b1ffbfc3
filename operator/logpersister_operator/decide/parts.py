"""Parts of the status as they were told before."""

from typing import TypeVar

from pydantic import ValidationError

from logpersister.manifest.constraint import Model
from logpersister_operator.observed import Observed

Part = TypeVar("Part", bound=Model)


def part_before(observed: Observed, field: str, model: type[Part]) -> Part | None:
    """Return a part of the status as it was told before; None when there is none, or none that is understood."""
    told = observed.status.get(field)
    try:
        return None if told is None else model.model_validate(told)
    except ValidationError:  # of another version, or changed by hand
        return None
