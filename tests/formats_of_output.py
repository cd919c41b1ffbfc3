"""Choices that the formats of ``spec.output`` have."""

from collections.abc import Mapping, Sequence
from typing import Final, get_args

from logpersister.manifest.blocks.output import FORMATS, OutputSpec


def _choices(setting: str) -> Mapping[str, Sequence[str]]:
    blocks = {name: type(OutputSpec.of(name).settings) for name in FORMATS}
    return {
        name: get_args(block.model_fields[setting].annotation)
        for name, block in blocks.items()
        if setting in block.model_fields
    }


COMPRESSIONS: Final = _choices("compression")
TOMBSTONES: Final = _choices("tombstones")
