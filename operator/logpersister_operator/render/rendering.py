"""The version of what this operator itself decides about pods: environment, probes, resources, volumes.

A StatefulSet whose template changes restarts its members, so an operator that makes other pods would restart those of
every resource at once, untried. Therefore other pods are another revision: raise `RENDERING` with each change of the
templates that pods of an unchanged resource have. A test compares them with those of each version.
"""

from typing import Final

RENDERING: Final = 3
_FIRST: Final = 1
"""Version of revisions whose ConfigMap names none."""


def with_rendering(code_version: str, rendering: int) -> str:
    """Return the version of the code as revisions have it: as it is with the first rendering."""
    return code_version if rendering == _FIRST else f"{code_version}+rendering{rendering}"


def written(rendering: int) -> str:
    """Return a version as the annotation of a ConfigMap; empty when there need not be one."""
    return "" if rendering == _FIRST else str(rendering)


def read(annotation: str) -> int | None:
    """Return the version that an annotation names; None when it makes no sense."""
    if not annotation:
        return _FIRST
    return int(annotation) if annotation.isascii() and annotation.isdecimal() else None
