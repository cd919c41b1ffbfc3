"""Pods of members and executors."""

from typing import Final

from logpersister_operator.cluster.kinds import Document
from logpersister_operator.render import instance_ids
from logpersister_operator.render.application import EXECUTOR, MEMBER, REVISION_LABEL, Application
from logpersister_operator.render.merge import merge
from logpersister_operator.render.network import BLOCK_MANAGER_PORT, DRIVER_PORT, HTTP_PORT
from logpersister_operator.render.pod_frame import (
    CONFIG_DIRECTORY,
    HTTP,
    MANIFEST_KEY,
    STOP_MARGIN_SECONDS,
    PodFrame,
    probes,
)

EXECUTOR_KEY: Final = "executor.json"
"""Key of the ConfigMap with the template of executors, and the file that it becomes."""
SECRETS_ANNOTATION: Final = "logpersister.dev/secrets-digest"

_DISK: Final = {"requests": {"ephemeral-storage": "256Mi"}, "limits": {"ephemeral-storage": "4Gi"}}
_MEMORY: Final = {
    MEMBER: {"requests": {"cpu": "1", "memory": "1280Mi"}, "limits": {"memory": "2Gi"}},
    EXECUTOR: {"requests": {"cpu": "1", "memory": "1280Mi"}, "limits": {"memory": "1280Mi"}},  # to Spark they are one
}
_RESOURCES: Final = {name: {part: one[part] | _DISK[part] for part in one} for name, one in _MEMORY.items()}
"""Of the containers. No limit of CPU: throttling only makes the same work slower. Records are staged on no disk: what
is written are logs, and the files that Spark unpacks."""


def member_template(app: Application) -> Document:
    """Return the template of members' pods with ``spec.podTemplate`` merged over it."""
    frame = _frame(app, MEMBER, app.component)
    config = {"name": "config", "configMap": {"name": app.revision_name}}
    spec = frame.pod(_member_container(app), [config])
    spec["terminationGracePeriodSeconds"] = _grace_seconds(app)
    spec["automountServiceAccountToken"] = app.has_executors  # only Spark's driver talks to the API server
    spec |= frame.spread()
    spec = merge(spec, app.defaults.pod(MEMBER, app.defaults.resources))
    return frame.template(spec, app.resource.spec.pod_template, **_marks(app))


def executor_pod(app: Application) -> Document:
    """Return the pod that Spark makes executors from, with ``spec.spark.executorPodTemplate`` merged over it."""
    frame = _frame(app, EXECUTOR)
    spec = frame.pod(frame.container(EXECUTOR, _RESOURCES[EXECUTOR]), [])
    spec["automountServiceAccountToken"] = False
    spec["terminationGracePeriodSeconds"] = _grace_seconds(app)  # one whose node is drained ends what it is at
    spec = merge(spec, app.defaults.pod(EXECUTOR, app.defaults.executor_resources))
    template = frame.template(spec, app.resource.spec.spark.executor_pod_template, **_marks(app))
    return {"apiVersion": "v1", "kind": "Pod", **template}


def _frame(app: Application, account: str, component: str = "") -> PodFrame:
    account_name = app.account_name(account)
    return PodFrame(app.owner, component or account, account_name, app.image, app.secret_names, app.defaults)


def _marks(app: Application) -> dict[str, dict[str, str]]:
    digest = {SECRETS_ANNOTATION: app.secrets_digest} if app.secrets_digest else {}
    return {"labels": {REVISION_LABEL: app.revision}, "annotations": digest}


def _grace_seconds(app: Application) -> int:
    return int(app.resource.spec.shutdown_grace.total_seconds()) + STOP_MARGIN_SECONDS


def _member_container(app: Application) -> Document:
    container = _frame(app, MEMBER).container(MEMBER, _RESOURCES[MEMBER])
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
    container["ports"] = [HTTP]
    container["volumeMounts"] += [{"name": "config", "mountPath": CONFIG_DIRECTORY, "readOnly": True}]
    if app.has_executors:
        container["env"] += _driver_environment(app)
        container["ports"] += [
            {"name": "driver", "containerPort": DRIVER_PORT, "protocol": "TCP"},
            {"name": "blocks", "containerPort": BLOCK_MANAGER_PORT, "protocol": "TCP"},
        ]
    return container | probes()


def _driver_environment(app: Application) -> list[Document]:
    """What `logpersister.pipeline.kubernetes` reads."""
    return [
        {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
        {"name": "POD_NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}},
        {"name": "LOGPERSISTER_EXECUTOR_IMAGE", "value": app.image},
        {"name": "LOGPERSISTER_EXECUTOR_TEMPLATE", "value": f"{CONFIG_DIRECTORY}/{EXECUTOR_KEY}"},
        {"name": "LOGPERSISTER_EXECUTOR_ACCOUNT", "value": app.account_name(EXECUTOR)},
    ]
