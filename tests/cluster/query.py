"""A query of a user over a backup, as a pod with an executor pod: what runs in it is `tests.cluster.backup_query`."""

import base64
import io
import itertools
import json
import os
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pyspark

from tests.cluster import backup_query
from tests.cluster.environment import MEMBER_IMAGE
from tests.cluster.kubectl import Document, Kubectl
from tests.stack.artifacts import ROOT

NAME: Final = "query"
_JARS: Final = backup_query.JARS
_KEY: Final = f"{_JARS[1:]}/"
_FETCH: Final = """
import json, os, boto3
storage = json.loads(os.environ["REQUEST"])["storage"]
client = boto3.client("s3", endpoint_url=storage["endpoint"], region_name=storage["region"])
for listed in client.list_objects_v2(Bucket=storage["bucket"], Prefix=os.environ["KEY"])["Contents"]:
    client.download_file(storage["bucket"], listed["Key"], "/" + listed["Key"])
"""
_SQL: Final = "# SQL"
"""Begins the list of those jars that the image of members lacks and that SQL needs."""
_CONTAINER: Final[Document] = {
    "envFrom": [{"secretRef": {"name": "s3"}}],
    "resources": {"requests": {"cpu": "100m"}},
    "securityContext": {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "runAsNonRoot": True,
        "seccompProfile": {"type": "RuntimeDefault"},
    },
    "volumeMounts": [{"name": "jars", "mountPath": _JARS}],
}
"""What all containers have in common. The Secret is for the AWS SDK; executors get their keys by Spark's settings."""


def upload_jars(client: Any, bucket: str) -> None:
    """Put the jars of Spark's SQL into a bucket."""
    folder = Path(pyspark.__file__).parent / "jars"
    lines = (ROOT / "images" / "unused-jars.txt").read_text().splitlines()
    (patterns,) = [after for line, after in itertools.pairwise(lines) if line.startswith(_SQL)]
    for pattern in patterns.split():
        for jar in folder.glob(pattern):
            client.upload_file(str(jar), bucket, f"{_KEY}{jar.name}")


def begin(kubectl: Kubectl, storage: Mapping[str, str]) -> None:
    """Start the query of a backup; its Secret has the keys of the storage."""
    kubectl.apply(*_documents(kubectl.namespace, os.environ[MEMBER_IMAGE], storage))


def phase(kubectl: Kubectl) -> str | None:
    """Return whether it has ended, by the phase of its pod; None: not yet."""
    pod = kubectl.get("pod", NAME)
    found = pod["status"].get("phase") if pod else None
    return found if found in ("Succeeded", "Failed") else None


def _documents(namespace: str, image: str, storage: Mapping[str, str]) -> Iterator[Document]:
    account = {"kind": "ServiceAccount", "name": NAME}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "edit"}
    subjects = [{**account, "namespace": namespace}]
    yield {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": NAME}}
    rbac = "rbac.authorization.k8s.io/v1"
    binding = {"apiVersion": rbac, "kind": "RoleBinding", "metadata": {"name": NAME}}
    yield {**binding, "roleRef": role, "subjects": subjects}
    script = Path(backup_query.__file__)
    request = {"name": "REQUEST", "value": json.dumps({"storage": storage, "image": image})}
    fetch = {
        "name": "jars",
        "image": image,
        "command": ["python", "-c", _FETCH],
        "env": [request, {"name": "KEY", "value": _KEY}],
        **_CONTAINER,
    }
    pod = {"initContainers": [fetch], "volumes": [{"name": "jars", "emptyDir": {}}]}
    executor = {"spec": {**pod, "containers": [{**_CONTAINER, "name": "executor", "envFrom": []}]}}
    yield {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": NAME},
        "data": {script.name: script.read_text(), backup_query.TEMPLATE: json.dumps(executor)},
        "binaryData": {backup_query.PACKAGE: base64.b64encode(_package()).decode()},
    }
    yield {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": NAME},
        "spec": {
            **pod,
            "serviceAccountName": NAME,
            "restartPolicy": "Never",
            "containers": [_driver(script.name, image, request)],
            "volumes": [*pod["volumes"], {"name": "query", "configMap": {"name": NAME}}],
        },
    }


def _driver(script: str, image: str, request: Document) -> Document:
    fields = {"POD_NAME": "metadata.name", "POD_NAMESPACE": "metadata.namespace", "POD_IP": "status.podIP"}
    of_pod = [{"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}} for name, path in fields.items()]
    return {
        **_CONTAINER,
        "name": "driver",
        "image": image,
        "command": ["python", f"/query/{script}"],
        "env": [request, *of_pod],
        "volumeMounts": [*_CONTAINER["volumeMounts"], {"name": "query", "mountPath": "/query"}],
    }


def _package() -> bytes:
    """Return the data source as users pack it for `addPyFile`."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for module in sorted((ROOT / "spark-source").glob("pyspark_logpersister/*.py")):
            archive.write(module, module.relative_to(ROOT / "spark-source"))
    return content.getvalue()
