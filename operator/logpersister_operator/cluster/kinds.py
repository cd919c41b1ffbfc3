"""Where the API server keeps each kind of object that the operator knows. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

Document = dict[str, Any]
"""A Kubernetes object as JSON."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of object."""

    name: str
    api_version: str
    plural: str

    def path(self, namespace: str | None, name: str | None = None, subresource: str | None = None) -> str:
        """Return the path of one object, or of all objects of a namespace, or of all namespaces."""
        root = "/api/v1" if self.api_version == "v1" else f"/apis/{self.api_version}"
        parts = [root] if namespace is None else [root, "namespaces", quote(namespace, safe="")]
        parts.append(self.plural)
        parts += [quote(part, safe="") for part in (name, subresource) if part is not None]
        return "/".join(parts)


LOGPERSISTER: Final = Kind("LogPersister", "logpersister.dev/v1alpha1", "logpersisters")
FEED_COLLECTOR: Final = Kind("FeedCollector", "logpersister.dev/v1alpha1", "feedcollectors")
LOG_REPLAY: Final = Kind("LogReplay", "logpersister.dev/v1alpha1", "logreplays")
RESOURCES: Final = (LOGPERSISTER, FEED_COLLECTOR, LOG_REPLAY)
"""Kinds of our own, each with a definition (`crd`)."""
CONFIG_MAP: Final = Kind("ConfigMap", "v1", "configmaps")
DEPLOYMENT: Final = Kind("Deployment", "apps/v1", "deployments")
EVENT: Final = Kind("Event", "v1", "events")
JOB: Final = Kind("Job", "batch/v1", "jobs")
LEASE: Final = Kind("Lease", "coordination.k8s.io/v1", "leases")
NAMESPACE: Final = Kind("Namespace", "v1", "namespaces")
NETWORK_POLICY: Final = Kind("NetworkPolicy", "networking.k8s.io/v1", "networkpolicies")
POD: Final = Kind("Pod", "v1", "pods")
POD_DISRUPTION_BUDGET: Final = Kind("PodDisruptionBudget", "policy/v1", "poddisruptionbudgets")
ROLE: Final = Kind("Role", "rbac.authorization.k8s.io/v1", "roles")
ROLE_BINDING: Final = Kind("RoleBinding", "rbac.authorization.k8s.io/v1", "rolebindings")
SECRET: Final = Kind("Secret", "v1", "secrets")
SERVICE: Final = Kind("Service", "v1", "services")
SERVICE_ACCOUNT: Final = Kind("ServiceAccount", "v1", "serviceaccounts")
STATEFUL_SET: Final = Kind("StatefulSet", "apps/v1", "statefulsets")

CHILDREN: Final = (
    SERVICE_ACCOUNT,
    ROLE,
    ROLE_BINDING,
    CONFIG_MAP,
    SERVICE,
    NETWORK_POLICY,
    POD_DISRUPTION_BUDGET,
    STATEFUL_SET,
    JOB,
)
"""Kinds that the operator makes, in the order in which they are needed."""
OF_EXECUTORS: Final = (ROLE, ROLE_BINDING)
"""Kinds among them that only members with executors need."""

_BY_NAME: Final[Mapping[str, Kind]] = {kind.name: kind for kind in (*RESOURCES, EVENT, LEASE, POD, SECRET, *CHILDREN)}


@dataclass(frozen=True, slots=True, order=True)
class Reference:
    """One object of a namespace that is known from elsewhere."""

    kind: str
    name: str

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> "Reference":
        return cls(document["kind"], document["metadata"]["name"])

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


def kind_of(name: str) -> Kind:
    """Return the kind with this name; raises KeyError for one that the operator has nothing to do with."""
    return _BY_NAME[name]
