"""The operator's process."""

import asyncio
import contextlib
import logging
import signal
import socket
import sys
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Final, cast

import kopf
import structlog
from prometheus_client import start_http_server

from logpersister.report import logs
from logpersister_operator import handlers, standby
from logpersister_operator.cluster.access import Access, AccessError, find_access
from logpersister_operator.cluster.client import ApiServer
from logpersister_operator.cluster.connection import Connection
from logpersister_operator.cluster.definition import wait_until_served
from logpersister_operator.cluster.lease import Candidate, Terms
from logpersister_operator.leader import Candidacy, Leadership
from logpersister_operator.observe.namespaces import Namespaces
from logpersister_operator.runtime import Operator
from logpersister_operator.settings import Settings, SettingsError
from logpersister_operator.supervision import Supervisors
from logpersister_operator.watchdog import WorkerPoolWatchdog

log = structlog.get_logger(__name__)

SWITCH_SECONDS: Final = 0.001
"""How long one thread may compute while others wait. A renewal of the Lease waits several times for its turn: among 16
threads that compute, a round trip took 0.3 s with Python's 5 ms, and 0.05 s with 0.5 ms."""


def main() -> int:
    """Run until a signal comes; return the exit code."""
    try:
        settings = Settings.from_environment()
        access = find_access()
    except (SettingsError, AccessError) as error:
        sys.stderr.write(f"logpersister-operator: {error}\n")
        return 2

    logs.configure(cast("logs.LogFormat", settings.log_format), cast("logs.LogLevel", settings.log_level))
    logging.getLogger("kafka").setLevel(logging.CRITICAL)  # the status reports a broker that is away
    stop = threading.Event()
    _listen_to_signals(stop)
    sys.setswitchinterval(SWITCH_SECONDS)
    candidacy = _candidacy(settings, access)
    with contextlib.ExitStack() as until_it_runs:
        until_it_runs.enter_context(standby.alive(settings.health_port, candidacy.failure))
        with candidacy.lead(stop) as leadership:
            connection = Connection(access)
            if leadership is not None and wait_until_served(connection, stop):
                namespaces = Namespaces(ApiServer(connection), settings)
                while (found := namespaces.wait(stop)) is not None:
                    until_it_runs.close()  # kopf takes over the port
                    if not run(settings, access, connection, leadership, namespaces, found):
                        break
                    _listen_to_signals(stop)  # kopf did, and does no more
                    until_it_runs.enter_context(standby.alive(settings.health_port, candidacy.failure))
    return 0


def _listen_to_signals(stop: threading.Event) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())


def _candidacy(settings: Settings, access: Access) -> Candidacy:
    terms = Terms(settings.lease_seconds)
    namespace, _, name = settings.lease.partition("/")
    identity = f"{socket.gethostname()}_{uuid.uuid4()}"  # a container that is restarted must not take itself for this
    log.info("leader.awaited", lease=settings.lease, identity=identity)
    leases = ApiServer(Connection(access, patient=False), terms.request)
    return Candidacy(Candidate(leases, (namespace, name), identity, terms), terms)


def run(
    settings: Settings,
    access: Access,
    connection: Connection,
    leadership: Leadership,
    namespaces: Namespaces,
    found: tuple[str, ...],
) -> bool:
    """Run the operator until a signal comes, or the namespaces are others: then return True, to run anew with those.

    ``found`` are the namespaces, none for all of them.
    """
    registry = kopf.OperatorRegistry()
    with ThreadPoolExecutor(settings.threads, thread_name_prefix="reconcile") as pool:
        operator = Operator(connection, settings, ApiServer(connection, before_write=leadership.check))
        watchdog = WorkerPoolWatchdog(pool)
        supervisors = Supervisors(operator, pool)
        handlers.register(registry, operator, supervisors, watchdog, access)
        watchdog.start()
        server, _ = start_http_server(settings.metrics_port, registry=operator.metrics.registry)
        log.info("operator.started", image=settings.image, namespaces=list(found) or "all")
        try:
            return asyncio.run(_serve(registry, settings.health_port, namespaces, found))
        finally:
            watchdog.stop()
            supervisors.close()
            server.shutdown()
            server.server_close()


async def _serve(
    registry: kopf.OperatorRegistry, health_port: int, namespaces: Namespaces, found: tuple[str, ...]
) -> bool:
    """Serve until the end; return whether it came because the namespaces are others."""
    changed = asyncio.Event()

    async def look() -> None:
        await namespaces.until_changed(found)
        changed.set()

    looking = asyncio.create_task(look())
    try:
        await kopf.operator(
            registry=registry,
            clusterwide=not found,
            namespaces=found,
            liveness_endpoint=f"http://0.0.0.0:{health_port}/healthz",
            standalone=True,
            stop_flag=changed,
        )
    finally:
        looking.cancel()
    return changed.is_set()
