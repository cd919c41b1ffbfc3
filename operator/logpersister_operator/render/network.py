"""How pods find each other, and who may connect to them."""

from typing import Final

from logpersister_operator.cluster.kinds import NETWORK_POLICY, SERVICE, Document
from logpersister_operator.render.application import COMPONENT_LABEL, MEMBER, Application

HTTP_PORT: Final = 8080
"""Metrics, probes and status of a member."""
DRIVER_PORT: Final = 7078
BLOCK_MANAGER_PORT: Final = 7079
"""Executors connect to both of their member."""


def headless_service(app: Application) -> Document:
    """Return the Service that gives members their DNS names; also what a scrape configuration selects."""
    return app.child(
        SERVICE,
        app.members_name,
        {
            "spec": {
                "clusterIP": "None",
                "publishNotReadyAddresses": True,
                "selector": app.selector | {COMPONENT_LABEL: MEMBER},
                "ports": [{"name": "http", "port": HTTP_PORT, "targetPort": "http", "protocol": "TCP"}],
            }
        },
        labels={COMPONENT_LABEL: MEMBER},
    )


def network_policy(app: Application) -> list[Document]:
    """Return the policy of ``spec.networkPolicy``: only the port of reports is open to other pods."""
    if app.resource.spec.network_policy == "None":
        return []
    spec = {
        "podSelector": {"matchLabels": app.selector},
        "policyTypes": ["Ingress"],
        "ingress": [
            {"from": [{"podSelector": {"matchLabels": app.selector}}]},
            {"ports": [{"port": "http", "protocol": "TCP"}]},
        ],
    }
    return [app.child(NETWORK_POLICY, app.members_name, {"spec": spec})]
