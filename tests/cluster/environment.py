"""What the tests are told by `tests.cluster.__main__`, as environment variables."""

import os
from typing import Final

HOST: Final = "CLUSTER_HOST"
"""Address of this machine for pods; Kafka and S3 of the tests listen there."""
OPERATOR_IMAGE: Final = "CLUSTER_OPERATOR_IMAGE"
MEMBER_IMAGE: Final = "CLUSTER_MEMBER_IMAGE"
OWN_NODE: Final = "CLUSTER_OWN_NODE"
"""Set when the cluster is the node of this working copy."""

OPERATOR_NAMESPACE: Final = "logpersister-system"
PATIENCE_SECONDS: Final = 600.0
"""Until a condition counts as never met. It ends a hang and measures nothing: pods of a cold node may take minutes."""


def started_by_us() -> bool:
    """Whether there is a cluster to test on."""
    return all(name in os.environ for name in ("KUBECONFIG", HOST, OPERATOR_IMAGE, MEMBER_IMAGE))
