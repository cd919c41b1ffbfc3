"""Executors that an earlier process in this pod has left behind: they end before the next one makes its own.

They belong to the pod, which stays when only its container ends, so Kubernetes does not collect them. Nobody takes what
they are still at, and they hold the room that the new ones need.
"""

import json
import ssl
from collections.abc import Mapping
from http.client import HTTPException, HTTPSConnection
from pathlib import Path
from typing import Final
from urllib.parse import quote, urlencode

import structlog

from logpersister.pipeline.kubernetes import DRIVER_LABEL

log = structlog.get_logger(__name__)

ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""Where Kubernetes mounts the pod's token, and the authority of the API server."""
REQUEST_SECONDS: Final = 10.0
GRACE_SECONDS: Final = 1
"""Grace for executors to end in. Their driver is gone, and their ranges are executed again."""
MOST_NAMED: Final = 20
"""Pods that a line of the log names."""


class _RefusedError(Exception):
    """The API server said no."""


def end_leftovers(environment: Mapping[str, str], account: Path = ACCOUNT) -> None:
    """Delete all executors of drivers of this pod's name; to be called while this process has none.

    What goes wrong is logged, and no more: new executors have other names, and old ones end when they miss their
    driver.

    Args:
        environment: of this process, with all of `kubernetes.REQUIRED`.
        account: the folder of the service account.
    """
    try:
        names = _delete(environment, account)
    except (OSError, HTTPException, ValueError, _RefusedError) as error:
        log.warning("executors.left_behind", driver=environment["POD_NAME"], error=str(error) or repr(error))
    else:
        if names:
            log.info("executors.ended", pods=names[:MOST_NAMED], count=len(names))


def _delete(environment: Mapping[str, str], account: Path) -> list[str]:
    """Delete by one request; return the names of the pods."""
    host, port = environment["KUBERNETES_SERVICE_HOST"], int(environment["KUBERNETES_SERVICE_PORT"])
    pods = f"/api/v1/namespaces/{quote(environment['POD_NAMESPACE'], safe='')}/pods"
    selector = urlencode({"labelSelector": f"{DRIVER_LABEL}={environment['POD_NAME']}"})
    headers = {"Authorization": f"Bearer {(account / 'token').read_text().strip()}", "Content-Type": "application/json"}
    options = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": GRACE_SECONDS}
    context = ssl.create_default_context(cafile=account / "ca.crt")
    connection = HTTPSConnection(host, port, context=context, timeout=REQUEST_SECONDS)
    try:
        connection.request("DELETE", f"{pods}?{selector}", json.dumps(options), headers)
        response = connection.getresponse()
        answer = json.loads(response.read())
    finally:
        connection.close()
    if response.status != 200:
        raise _RefusedError(f"{response.status}: {answer.get('message', answer)}")
    return [str(pod["metadata"]["name"]) for pod in answer.get("items") or []]
