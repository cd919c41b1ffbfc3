"""How pods find each other, and who may connect to them."""

from typing import Final

from logpersister_operator.cluster.kinds import NETWORK_POLICY, SERVICE, Document
from logpersister_operator.render.ownership import COMPONENT_LABEL, Owner

HTTP_PORT: Final = 8080
"""Metrics, probes and status of a member."""
DRIVER_PORT: Final = 7078
BLOCK_MANAGER_PORT: Final = 7079
"""Executors connect to both of their member."""


def headless_service(owner: Owner, name: str, component: str) -> Document:
    """Return the Service that gives pods their DNS names; also what a scrape configuration selects."""
    return owner.child(
        SERVICE,
        name,
        {
            "spec": {
                "clusterIP": "None",
                "publishNotReadyAddresses": True,
                "selector": owner.selector | {COMPONENT_LABEL: component},
                "ports": [{"name": "http", "port": HTTP_PORT, "targetPort": "http", "protocol": "TCP"}],
            }
        },
        labels={COMPONENT_LABEL: component},
    )


def network_policy(owner: Owner, name: str) -> Document:
    """Return the policy by which only the port of reports is open to pods of other resources."""
    spec = {
        "podSelector": {"matchLabels": owner.selector},
        "policyTypes": ["Ingress"],
        "ingress": [
            {"from": [{"podSelector": {"matchLabels": owner.selector}}]},
            {"ports": [{"port": "http", "protocol": "TCP"}]},
        ],
    }
    return owner.child(NETWORK_POLICY, name, {"spec": spec})
