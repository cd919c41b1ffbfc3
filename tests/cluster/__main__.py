"""``python -m tests.cluster [PYTEST OPTIONS]``: the tests on a real cluster, `make test-cluster`.

The cluster is the node of this working copy, unless ``KUBECONFIG`` names another one. Then also needed:

- ``CLUSTER_HOST``: the address by which pods reach this machine, for example the gateway of kind's docker network.
- ``CLUSTER_LOAD``: a command that brings an image to all nodes; the path of its archive is added to it, for example
  ``kind load image-archive``. Not needed where the images are known already.
"""

import sys
from pathlib import Path

from tests.cluster.preparation import run_on_cluster

_LANES = ("-n2", "--dist=loadfile")
"""These tests mostly wait: those that leave the others alone run side by side (tests/cluster/lanes.py)."""
_OPTIONS = ("--quiet", *_LANES, "--maxfail=4", "--tb=short", "--durations=30", "--durations-min=1")
"""Where one thing is broken every test waits for it in vain: four that fail tell enough."""
_AGAIN = str(Path(__file__).parents[2] / "scripts" / "again.py")
"""In CI up to three that fail are played once more."""


def main() -> int:
    """Return the exit code of pytest, or 1 with a message when there is no cluster or no image."""
    pytest = [sys.executable, "-m", "pytest", *_OPTIONS, str(Path(__file__).parent), *sys.argv[1:]]
    return run_on_cluster([sys.executable, _AGAIN, *pytest])


if __name__ == "__main__":
    sys.exit(main())
