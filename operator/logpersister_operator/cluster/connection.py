"""The way to the API server: credentials, and whether it knows our kind of resource yet."""

import threading
from typing import Final

import structlog
import urllib3.exceptions
from kubernetes import client, config

from logpersister_operator.cluster.kinds import LOGPERSISTER

log = structlog.get_logger(__name__)

LOOK_SECONDS: Final = 2.0
REQUEST_SECONDS: Final = 10.0
_NOT_FOUND: Final = 404


def load_credentials() -> None:
    """Find the API server: inside of a pod its service account, elsewhere $KUBECONFIG."""
    try:
        config.load_incluster_config()
    except config.ConfigException:
        config.load_kube_config()


def impatient() -> client.ApiClient:
    """Return a client that sends each request once, so that it is answered or has failed in time."""
    configuration = client.Configuration.get_default_copy()
    configuration.retries = False
    return client.ApiClient(configuration)


def wait_until_served(api: client.ApiClient, stop: threading.Event) -> bool:
    """Wait until the API server serves LogPersisters; return False when ``stop`` comes first.

    It asks discovery, which everybody may: so the operator needs no right to read definitions.
    """
    last_reason = ""
    while not stop.is_set():
        missing = _missing(api)
        if missing is None:
            return True
        if missing != last_reason:
            log.warning("definition.awaited", reason=missing)
            last_reason = missing
        stop.wait(LOOK_SECONDS)
    return False


def _missing(api: client.ApiClient) -> str | None:
    group, _, version = LOGPERSISTER.api_version.partition("/")
    try:
        found = client.CustomObjectsApi(api).get_api_resources(group, version, _request_timeout=REQUEST_SECONDS)
    except client.ApiException as error:
        if error.status != _NOT_FOUND:
            return f"the API server refuses to list what it serves: {error.status} {error.reason}"
        return f"the API server does not serve {LOGPERSISTER.api_version}: install the CRD of LogPersister"
    except (urllib3.exceptions.HTTPError, OSError) as error:
        return f"the API server does not answer: {error}"
    if any(resource.name == LOGPERSISTER.plural for resource in found.resources):
        return None
    return f"the API server serves no {LOGPERSISTER.plural} of {LOGPERSISTER.api_version}"
