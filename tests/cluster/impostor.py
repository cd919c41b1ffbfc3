"""A pod that pretends to be one of Spark's executors."""

import copy
from typing import Final

from tests.cluster.kubectl import Document

SECRET: Final = "_SPARK_AUTH_SECRET"
"""What Spark calls its secret in the environment of executors."""
_SPEC: Final = ("automountServiceAccountToken", "containers", "securityContext", "serviceAccountName", "volumes")


def impostor(executor: Document, name: str, secret: str | None) -> Document:
    """Return a copy of an executor's pod with another secret; one without any does not even try to log in."""
    spec = copy.deepcopy({key: executor["spec"][key] for key in _SPEC})
    (container,) = spec["containers"]
    del container["lifecycle"]  # only what an executor needs to live, not to leave
    environment = {one["name"]: one for one in container["env"]}
    del environment[SECRET]
    environment["SPARK_EXECUTOR_ID"] = {"name": "SPARK_EXECUTOR_ID", "value": "1000"}
    if secret is not None:
        environment[SECRET] = {"name": SECRET, "value": secret}
    else:
        for one in environment.values():
            one["value"] = one.get("value", "").replace("spark.authenticate=true", "spark.authenticate=false")
    container["env"] = list(environment.values())
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {**spec, "restartPolicy": "Never", "enableServiceLinks": False},
    }
