"""Whether the API server knows our kind of resource yet."""

import threading
from typing import Final

import structlog

from logpersister_operator.cluster.connection import ClusterError, Connection
from logpersister_operator.cluster.kinds import LOGPERSISTER

log = structlog.get_logger(__name__)

LOOK_SECONDS: Final = 2.0
REQUEST_SECONDS: Final = 10.0
_NOT_FOUND: Final = 404


def wait_until_served(connection: Connection, stop: threading.Event) -> bool:
    """Wait until the API server serves LogPersisters; return False when ``stop`` comes first.

    It asks discovery, which everybody may: so the operator needs no right to read definitions.
    """
    last_reason = ""
    while not stop.is_set():
        missing = _missing(connection)
        if missing is None:
            return True
        if missing != last_reason:
            log.warning("definition.awaited", reason=missing)
            last_reason = missing
        stop.wait(LOOK_SECONDS)
    return False


def _missing(connection: Connection) -> str | None:
    try:
        found = connection.request("GET", f"/apis/{LOGPERSISTER.api_version}", seconds=REQUEST_SECONDS)
    except ClusterError as error:
        if error.status != _NOT_FOUND:
            return str(error)
        return f"the API server does not serve {LOGPERSISTER.api_version}: install the CRD of LogPersister"
    if any(resource["name"] == LOGPERSISTER.plural for resource in found["resources"]):
        return None
    return f"the API server serves no {LOGPERSISTER.plural} of {LOGPERSISTER.api_version}"
