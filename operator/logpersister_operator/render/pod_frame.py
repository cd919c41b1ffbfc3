"""Pods of whatever component, as administrators want them. They meet the *restricted* Pod Security Standard. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from logpersister.manifest.blocks.pods import PodTemplate
from logpersister.manifest.secrets import DIRECTORY_VARIABLE
from logpersister_operator.cluster.kinds import Document
from logpersister_operator.member_defaults import MemberDefaults
from logpersister_operator.render.merge import merge
from logpersister_operator.render.network import HTTP_PORT
from logpersister_operator.render.ownership import COMPONENT_LABEL, Owner

SECRETS_DIRECTORY: Final = "/var/run/secrets/logpersister"
CONFIG_DIRECTORY: Final = "/etc/logpersister"
MANIFEST_KEY: Final = "resource.json"
"""Key of the ConfigMap with the manifest, and the file that it becomes."""
HTTP: Final[Document] = {"name": "http", "containerPort": HTTP_PORT, "protocol": "TCP"}
STOP_MARGIN_SECONDS: Final = 30
"""What a process may take beside its ``shutdownGrace`` to end."""
_PLACES: Final = ("kubernetes.io/hostname", "topology.kubernetes.io/zone")


@dataclass(frozen=True, slots=True)
class PodFrame:
    """What all pods of a component have, whatever runs in them."""

    owner: Owner
    component: str
    """Value of `COMPONENT_LABEL`."""
    account: str
    """Service account."""
    image: str
    secrets: Sequence[str]
    """Names of the Secrets that are mounted, each at a path of its name."""
    defaults: MemberDefaults
    """What the administrator gives to pods."""

    @property
    def selector(self) -> dict[str, str]:
        """Labels of the pods of the component, and of no others."""
        return self.owner.selector | {COMPONENT_LABEL: self.component}

    def container(self, name: str, resources: Document) -> Document:
        """Return a container of the image."""
        return {
            "name": name,
            "image": self.image,
            "imagePullPolicy": "IfNotPresent",
            "env": [
                {"name": "HOME", "value": "/tmp"},  # noqa: S108 - a volume of the pod's own
                {"name": DIRECTORY_VARIABLE, "value": SECRETS_DIRECTORY},
            ],
            "resources": resources,
            "terminationMessagePolicy": "FallbackToLogsOnError",
            "securityContext": self.defaults.container_security_context,
            "volumeMounts": [
                {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108
                *(
                    {"name": f"secret-{number}", "mountPath": f"{SECRETS_DIRECTORY}/{name}", "readOnly": True}
                    for number, name in enumerate(self.secrets)
                ),
            ],
        }

    def pod(self, container: Document, volumes: Sequence[Document]) -> Document:
        """Return the spec of a pod with one container."""
        return {
            "serviceAccountName": self.account,
            "enableServiceLinks": False,  # an environment variable for each Service of the namespace helps nobody
            "securityContext": self.defaults.pod_security_context,
            "containers": [container],
            "volumes": [
                {"name": "tmp", "emptyDir": {}},
                *volumes,
                *(
                    {"name": f"secret-{number}", "secret": {"secretName": name}}
                    for number, name in enumerate(self.secrets)
                ),
            ],
        }

    def spread(self) -> Document:
        """Return the part of a pod's spec that spreads pods over nodes and zones; nothing when nobody wants that."""
        if not self.defaults.topology_spread:
            return {}
        return {
            "topologySpreadConstraints": [
                {
                    "maxSkew": 1,
                    "topologyKey": place,
                    "whenUnsatisfiable": "ScheduleAnyway",
                    "labelSelector": {"matchLabels": self.selector},
                }
                for place in _PLACES
            ]
        }

    def template(
        self,
        spec: Document,
        user: PodTemplate | None,
        *,
        labels: Mapping[str, str],
        annotations: Mapping[str, str],
    ) -> Document:
        """Return the template of pods, with the user's part merged over a spec; ours are the labels in doubt."""
        their_labels, their_annotations = self.defaults.labels, self.defaults.annotations
        if user is not None:
            spec = merge(spec, user.spec)
            their_labels = their_labels | user.metadata.labels
            their_annotations = their_annotations | user.metadata.annotations
        ours = self.owner.labels | {COMPONENT_LABEL: self.component, **labels}
        metadata = {"labels": {**their_labels, **ours}, "annotations": {**their_annotations, **annotations}}
        return {"metadata": metadata, "spec": spec}


def probes() -> dict[str, Any]:
    """Return the probes of a container that serves reports at `HTTP_PORT`."""

    def get(path: str, **settings: int) -> Document:
        return {"httpGet": {"path": path, "port": "http"}, "timeoutSeconds": 5, **settings}

    return {
        "startupProbe": get("/healthz", periodSeconds=2, failureThreshold=90),
        "livenessProbe": get("/healthz", periodSeconds=10, failureThreshold=3),
        "readinessProbe": get("/readyz", periodSeconds=5, failureThreshold=2),
    }
