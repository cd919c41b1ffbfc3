"""How an object says which resource it belongs to, whatever kind that is of. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from logpersister_operator.cluster.kinds import LOGPERSISTER, RESOURCES, Document, Kind

RESOURCE_LABEL: Final = "logpersister.dev/resource"
"""The name of a LogPersister, or kind and name of another resource, such as ``feedcollector.prices``.

A name has no dot, so two resources of one name and of two kinds never share objects.
"""
COMPONENT_LABEL: Final = "app.kubernetes.io/component"
_KINDS: Final = {kind.name.lower(): kind.name for kind in RESOURCES}


def resource_label(kind: Kind, name: str) -> str:
    """Return the value of `RESOURCE_LABEL` of the objects of a resource."""
    return name if kind is LOGPERSISTER else f"{kind.name.lower()}.{name}"


def kind_and_name(label: str) -> tuple[str, str]:
    """Return the kind and the name of the resource that a value of `RESOURCE_LABEL` names."""
    kind, dot, name = label.partition(".")
    return (_KINDS.get(kind, kind), name) if dot else (LOGPERSISTER.name, label)


@dataclass(frozen=True, slots=True)
class Owner:
    """The resource that owns objects: that very one, not another of the same name."""

    kind: Kind
    namespace: str
    name: str
    uid: str

    @property
    def selector(self) -> dict[str, str]:
        """Labels that all pods of the resource have, and those of no other resource."""
        return {RESOURCE_LABEL: resource_label(self.kind, self.name)}

    @property
    def labels(self) -> dict[str, str]:
        """Labels of every object of the resource."""
        return {
            "app.kubernetes.io/name": "logpersister",
            "app.kubernetes.io/instance": self.name,
            "app.kubernetes.io/managed-by": "logpersister-operator",
            **self.selector,
        }

    def child(
        self,
        kind: Kind,
        name: str,
        body: Mapping[str, Any],
        *,
        labels: Mapping[str, str] | None = None,
        annotations: Mapping[str, str] | None = None,
    ) -> Document:
        """Return an object that the resource owns. The resource's own labels and annotations are not copied."""
        return {
            "apiVersion": kind.api_version,
            "kind": kind.name,
            "metadata": {
                "name": name,
                "namespace": self.namespace,
                "labels": {**self.labels, **(labels or {})},
                **({"annotations": dict(annotations)} if annotations else {}),
                "ownerReferences": [
                    {
                        "apiVersion": self.kind.api_version,
                        "kind": self.kind.name,
                        "name": self.name,
                        "uid": self.uid,
                        "controller": True,
                        "blockOwnerDeletion": True,
                    }
                ],
            },
            **body,
        }
