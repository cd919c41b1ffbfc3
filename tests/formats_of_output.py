"""Choices that the formats of ``spec.output`` have."""

from collections.abc import Mapping, Sequence
from typing import Final, get_args

from logpersister.manifest.blocks.output import FORMATS, OutputSpec

_SETTINGS: Final = {name: type(OutputSpec.of(name).settings).model_fields for name in FORMATS}
COMPRESSIONS: Final[Mapping[str, Sequence[str]]] = {
    name: get_args(settings["compression"].annotation)
    for name, settings in _SETTINGS.items()
    if "compression" in settings
}
