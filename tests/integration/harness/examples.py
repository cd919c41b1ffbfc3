"""The manifests of ``examples/``, as tests run them: on servers, topics and a bucket of their own."""

from pathlib import Path
from typing import Any, Final

import yaml

from tests.integration.harness.scene import merged

_EXAMPLES: Final = Path(__file__).parents[3] / "examples"
_OF_A_SCENE: Final = ("kafka", "storage", "upload")
"""Where records come from and go to, and how long they wait: `Scene.manifest` has that."""


def example(name: str, **changes: Any) -> dict[str, Any]:
    """Return what an example says of records, for `Scene.manifest`; mappings in ``changes`` are merged in."""
    spec = yaml.safe_load((_EXAMPLES / f"{name}.yaml").read_text())["spec"]
    return merged({block: said for block, said in spec.items() if block not in _OF_A_SCENE}, changes)
