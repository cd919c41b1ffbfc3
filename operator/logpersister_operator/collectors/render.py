"""The Kubernetes objects of a FeedCollector, as documents to apply. Pure."""

import hashlib
import json
from dataclasses import dataclass
from typing import Final

from logpersister.forms.sparse import sparse
from logpersister.manifest import FeedCollector
from logpersister_operator.cluster.kinds import (
    CONFIG_MAP,
    FEED_COLLECTOR,
    SERVICE_ACCOUNT,
    STATEFUL_SET,
    Document,
)
from logpersister_operator.member_defaults import MemberDefaults
from logpersister_operator.render.application import REVISION_LABEL
from logpersister_operator.render.merge import merge
from logpersister_operator.render.network import HTTP_PORT, headless_service, network_policy
from logpersister_operator.render.ownership import COMPONENT_LABEL, Owner
from logpersister_operator.render.pod_frame import (
    CONFIG_DIRECTORY,
    HTTP,
    MANIFEST_KEY,
    STOP_MARGIN_SECONDS,
    PodFrame,
    probes,
)
from logpersister_operator.render.workload import disruption_budget

COLLECTOR: Final = "collector"
"""Component and container of the pods."""
SPOOL_DIRECTORY: Final = "/var/spool/logpersister"
_DIGITS: Final = 12
LARGEST_MANIFEST: Final = 2**20
"""Bytes; a ConfigMap holds no more."""
_OF_THE_OPERATOR: Final = ("networkPolicy", "podTemplate", "serviceAccount")
"""Fields of the spec that replicas need not know: a change of them alone makes no other ConfigMap."""
_MIB: Final = 2**20
_BESIDE_SPOOL: Final = 256 * _MIB
"""Bytes of the disk for logs and temporary files."""
_MOST_BESIDE_SPOOL: Final = 2**30


def manifest_of(resource: FeedCollector) -> str:
    """Return what replicas read, without what equals its default, and as compact as it can be."""
    document = sparse(resource)
    for name in _OF_THE_OPERATOR:
        document["spec"].pop(name, None)
    document["metadata"] = {"name": resource.name}
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class CollectorApp:
    """A valid FeedCollector with everything that its pods depend on."""

    resource: FeedCollector
    owner: Owner
    image: str
    defaults: MemberDefaults

    @classmethod
    def of(
        cls, resource: FeedCollector, *, namespace: str, uid: str, image: str, defaults: MemberDefaults
    ) -> "CollectorApp":
        return cls(resource, Owner(FEED_COLLECTOR, namespace, resource.name, uid), image, defaults)

    @property
    def name(self) -> str:
        """Name of all objects but the ConfigMap. Pods are ``prices-collector-0``, whatever their revision."""
        return f"{self.resource.name}-{COLLECTOR}"

    @property
    def manifest(self) -> str:
        """What replicas read."""
        return manifest_of(self.resource)

    @property
    def revision(self) -> str:
        """Digits that name the manifest of the replicas."""
        return hashlib.sha256(self.manifest.encode()).hexdigest()[:_DIGITS]

    def children(self) -> list[Document]:
        """Return everything that shall be there, in the order in which it is needed."""
        spec, owner, manifest, revision = self.resource.spec, self.owner, self.manifest, self.revision
        labels = {COMPONENT_LABEL: COLLECTOR, REVISION_LABEL: revision}
        account = spec.service_account
        body = {"automountServiceAccountToken": False}
        made = [owner.child(SERVICE_ACCOUNT, self.name, body, annotations=account.annotations)]
        return [
            *([] if account.name else made),
            owner.child(CONFIG_MAP, self.config_name(revision), {"data": {MANIFEST_KEY: manifest}}, labels=labels),
            headless_service(owner, self.name, COLLECTOR),
            *([] if spec.network_policy == "None" else [network_policy(owner, self.name)]),
            disruption_budget(owner, self.name, COLLECTOR),
            self._stateful_set(revision),
        ]

    def config_name(self, revision: str) -> str:
        return f"{self.name}-{revision}"

    def _stateful_set(self, revision: str) -> Document:
        """Return the replicas. Stable names tell each its part of the period, and its volume.

        With a new revision they are replaced one after the other, the last one first; one that does not become ready
        keeps the others as they are.
        """
        frame = self._frame()
        spec = {
            "replicas": self.resource.spec.replicas,
            "serviceName": self.name,
            "podManagementPolicy": "Parallel",
            "updateStrategy": {"type": "RollingUpdate"},
            "revisionHistoryLimit": 1,
            "selector": {"matchLabels": frame.selector},
            "template": self._template(frame, revision),
            **self._claims(),
        }
        return self.owner.child(STATEFUL_SET, self.name, {"spec": spec}, labels={COMPONENT_LABEL: COLLECTOR})

    def _frame(self) -> PodFrame:
        spec = self.resource.spec
        account = spec.service_account.name or self.name
        return PodFrame(self.owner, COLLECTOR, account, self.image, spec.secret_names(), self.defaults)

    def _template(self, frame: PodFrame, revision: str) -> Document:
        spec = self.resource.spec
        config = {"name": "config", "configMap": {"name": self.config_name(revision)}}
        spool = [] if spec.spool.volume_claim else [{"name": "spool", "emptyDir": {}}]
        pod = frame.pod(self._container(frame), [config, *spool]) | frame.spread() | _apart(frame)
        pod["terminationGracePeriodSeconds"] = int(spec.shutdown_grace.total_seconds()) + STOP_MARGIN_SECONDS
        pod["automountServiceAccountToken"] = False
        pod = merge(pod, self.defaults.pod(COLLECTOR, {}))
        return frame.template(pod, spec.pod_template, labels={REVISION_LABEL: revision}, annotations={})

    def _container(self, frame: PodFrame) -> Document:
        container = frame.container(COLLECTOR, self._resources()) | probes()
        container["args"] = [
            *("collect", "--file", f"{CONFIG_DIRECTORY}/{MANIFEST_KEY}"),
            *("--replica-name", "$(POD_NAME)", "--spool", f"{SPOOL_DIRECTORY}/records"),
            *("--http", f":{HTTP_PORT}", "--log-format", "json"),
        ]
        name = {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}
        container["env"] = [*container["env"], name]
        container["ports"] = [HTTP]
        container["volumeMounts"] = [
            *container["volumeMounts"],
            {"name": "config", "mountPath": CONFIG_DIRECTORY, "readOnly": True},
            {"name": "spool", "mountPath": SPOOL_DIRECTORY},
        ]
        return container

    def _resources(self) -> Document:
        """Return requests and limits: a thousand feeds take a twentieth of a core, bodies 320 MiB at most."""
        spool = self.resource.spec.spool
        on_node = 0 if spool.volume_claim else spool.max_bytes
        return {
            "requests": {"cpu": "100m", "memory": "256Mi", "ephemeral-storage": _mebibytes(on_node + _BESIDE_SPOOL)},
            "limits": {"memory": "1Gi", "ephemeral-storage": _mebibytes(on_node + _MOST_BESIDE_SPOOL)},
        }

    def _claims(self) -> Document:
        claim = self.resource.spec.spool.volume_claim
        if claim is None:
            return {}
        storage_class = {"storageClassName": claim.storage_class_name} if claim.storage_class_name else {}
        spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": _mebibytes(claim.size)}}}
        return {
            "volumeClaimTemplates": [
                {"metadata": {"name": "spool", "labels": self.owner.labels}, "spec": spec | storage_class}
            ],
            # A replica that comes back sends what it left; a resource that is deleted has sent what it could.
            "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete", "whenScaled": "Retain"},
        }


def _apart(frame: PodFrame) -> Document:
    """Return the part of a pod's spec that keeps replicas on different nodes where there are some."""
    if not frame.defaults.topology_spread:
        return {}
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": frame.selector}}
    preferred = [{"weight": 100, "podAffinityTerm": term}]
    return {"affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}}


def _mebibytes(size: int) -> str:
    return f"{-(-size // _MIB)}Mi"
