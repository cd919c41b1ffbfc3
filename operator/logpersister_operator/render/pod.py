"""Pods of members and executors. They meet the *restricted* Pod Security Standard."""

from typing import Any, Final

from logpersister.manifest.blocks.pods import PodTemplate
from logpersister.manifest.secrets import DIRECTORY_VARIABLE
from logpersister_operator.cluster.kinds import Document
from logpersister_operator.render import instance_ids
from logpersister_operator.render.application import (
    COMPONENT_LABEL,
    EXECUTOR,
    MEMBER,
    REVISION_LABEL,
    Application,
    common_labels,
    secret_names,
)
from logpersister_operator.render.merge import merge
from logpersister_operator.render.network import BLOCK_MANAGER_PORT, DRIVER_PORT, HTTP_PORT

SECRETS_DIRECTORY: Final = "/var/run/secrets/logpersister"
CONFIG_DIRECTORY: Final = "/etc/logpersister"
MANIFEST_KEY: Final = "resource.json"
EXECUTOR_KEY: Final = "executor.json"
"""Keys of the ConfigMap of a revision, and the files that they become."""
SECRETS_ANNOTATION: Final = "logpersister.dev/secrets-digest"
STOP_MARGIN_SECONDS: Final = 30
"""After ``shutdownGrace`` a member still commits, leaves the group and ends its JVM."""

_DISK: Final = {"requests": {"ephemeral-storage": "256Mi"}, "limits": {"ephemeral-storage": "4Gi"}}
_MEMORY: Final = {
    MEMBER: {"requests": {"cpu": "1", "memory": "1280Mi"}, "limits": {"memory": "2Gi"}},
    EXECUTOR: {"requests": {"cpu": "1", "memory": "1280Mi"}, "limits": {"memory": "1280Mi"}},  # to Spark they are one
}
_RESOURCES: Final = {name: {part: one[part] | _DISK[part] for part in one} for name, one in _MEMORY.items()}
"""Of the containers. No limit of CPU: throttling only makes the same work slower. Records are staged on no disk: what
is written are logs, and the files that Spark unpacks."""
_PLACES: Final = ("kubernetes.io/hostname", "topology.kubernetes.io/zone")
"""Over which members are spread, where that is possible."""


def member_template(app: Application) -> Document:
    """Return the template of members' pods with ``spec.podTemplate`` merged over it."""
    spec = _pod(app, MEMBER, _member_container(app), [_volume_of_config(app)])
    spec["terminationGracePeriodSeconds"] = _grace_seconds(app)
    spec["automountServiceAccountToken"] = app.has_executors  # only Spark's driver talks to the API server
    spec["topologySpreadConstraints"] = [
        {
            "maxSkew": 1,
            "topologyKey": place,
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": app.selector | {COMPONENT_LABEL: app.component}},
        }
        for place in _PLACES
    ]
    if not app.defaults.topology_spread:
        del spec["topologySpreadConstraints"]
    spec = merge(spec, app.defaults.pod(MEMBER, app.defaults.resources))
    return _with_template(app, app.component, spec, app.resource.spec.pod_template)


def executor_pod(app: Application) -> Document:
    """Return the pod that Spark makes executors from, with ``spec.spark.executorPodTemplate`` merged over it."""
    container = _container(EXECUTOR, app)
    spec = _pod(app, EXECUTOR, container, [])
    spec["automountServiceAccountToken"] = False
    spec["terminationGracePeriodSeconds"] = _grace_seconds(app)  # one whose node is drained ends what it is at
    spec = merge(spec, app.defaults.pod(EXECUTOR, app.defaults.executor_resources))
    template = _with_template(app, EXECUTOR, spec, app.resource.spec.spark.executor_pod_template)
    return {"apiVersion": "v1", "kind": "Pod", **template}


def _grace_seconds(app: Application) -> int:
    return int(app.resource.spec.shutdown_grace.total_seconds()) + STOP_MARGIN_SECONDS


def _with_template(app: Application, component: str, spec: Document, user: PodTemplate | None) -> Document:
    labels, annotations = app.defaults.labels, app.defaults.annotations
    if user is not None:
        spec = merge(spec, user.spec)
        labels, annotations = labels | user.metadata.labels, annotations | user.metadata.annotations
    labels = labels | common_labels(app.name) | {COMPONENT_LABEL: component, REVISION_LABEL: app.revision}
    if app.secrets_digest:
        annotations = annotations | {SECRETS_ANNOTATION: app.secrets_digest}
    return {"metadata": {"labels": labels, "annotations": annotations}, "spec": spec}


def _pod(app: Application, component: str, container: Document, volumes: list[Document]) -> Document:
    return {
        "serviceAccountName": app.account_name(component),
        "enableServiceLinks": False,  # an environment variable for each Service of the namespace helps nobody
        "securityContext": app.defaults.pod_security_context,
        "containers": [container],
        "volumes": [
            {"name": "tmp", "emptyDir": {}},
            *volumes,
            *(
                {"name": f"secret-{number}", "secret": {"secretName": name}}
                for number, name in enumerate(secret_names(app.resource.spec))
            ),
        ],
    }


def _container(name: str, app: Application) -> Document:
    return {
        "name": name,
        "image": app.image,
        "imagePullPolicy": "IfNotPresent",
        "env": [
            {"name": "HOME", "value": "/tmp"},  # noqa: S108 - a volume of the pod's own
            {"name": DIRECTORY_VARIABLE, "value": SECRETS_DIRECTORY},
        ],
        "resources": _RESOURCES[name],
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "securityContext": app.defaults.container_security_context,
        "volumeMounts": [
            {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108
            *(
                {"name": f"secret-{number}", "mountPath": f"{SECRETS_DIRECTORY}/{name}", "readOnly": True}
                for number, name in enumerate(secret_names(app.resource.spec))
            ),
        ],
    }


def _member_container(app: Application) -> Document:
    container = _container(MEMBER, app)
    container["args"] = [
        *("run", "--file", f"{CONFIG_DIRECTORY}/{MANIFEST_KEY}"),
        *("--member-name", "$(POD_NAME)", "--cores", "$(CORES)"),
        *("--http", f":{HTTP_PORT}", "--log-format", "json"),
    ]
    container["env"] += [
        {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        {"name": instance_ids.VARIABLE, "value": instance_ids.instance_id("$(POD_NAME)", app.uid)},
        # As many tasks at once as the pod asked for, whatever the node has.
        {"name": "CORES", "valueFrom": {"resourceFieldRef": {"resource": "requests.cpu", "divisor": "1"}}},
    ]
    container["ports"] = [{"name": "http", "containerPort": HTTP_PORT, "protocol": "TCP"}]
    container["volumeMounts"] += [{"name": "config", "mountPath": CONFIG_DIRECTORY, "readOnly": True}]
    if app.has_executors:
        container["env"] += _driver_environment(app)
        container["ports"] += [
            {"name": "driver", "containerPort": DRIVER_PORT, "protocol": "TCP"},
            {"name": "blocks", "containerPort": BLOCK_MANAGER_PORT, "protocol": "TCP"},
        ]
    return container | _probes()


def _driver_environment(app: Application) -> list[Document]:
    """What `logpersister.pipeline.kubernetes` reads."""
    return [
        {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
        {"name": "POD_NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}},
        {"name": "LOGPERSISTER_EXECUTOR_IMAGE", "value": app.image},
        {"name": "LOGPERSISTER_EXECUTOR_TEMPLATE", "value": f"{CONFIG_DIRECTORY}/{EXECUTOR_KEY}"},
        {"name": "LOGPERSISTER_EXECUTOR_ACCOUNT", "value": app.account_name(EXECUTOR)},
    ]


def _probes() -> dict[str, Any]:
    def get(path: str, **settings: int) -> Document:
        return {"httpGet": {"path": path, "port": "http"}, "timeoutSeconds": 5, **settings}

    return {
        "startupProbe": get("/healthz", periodSeconds=2, failureThreshold=90),
        "livenessProbe": get("/healthz", periodSeconds=10, failureThreshold=3),
        "readinessProbe": get("/readyz", periodSeconds=5, failureThreshold=2),
    }


def _volume_of_config(app: Application) -> Document:
    return {"name": "config", "configMap": {"name": app.revision_name}}
