"""The operator's process."""

import asyncio
import contextlib
import logging
import os
import signal
import socket
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import cast

import kopf
import structlog
from kubernetes import client
from prometheus_client import start_http_server

from logpersister.report import logs
from logpersister_operator import handlers, standby
from logpersister_operator.cluster.access import load_credentials, wait_until_served
from logpersister_operator.leader import Lost, lead
from logpersister_operator.runtime import Operator
from logpersister_operator.sentinel import Sentinel
from logpersister_operator.settings import Settings, SettingsError
from logpersister_operator.supervision import Supervisors

log = structlog.get_logger(__name__)


def main() -> int:
    """Run until a signal comes; return the exit code."""
    try:
        settings = Settings.from_environment()
    except SettingsError as error:
        sys.stderr.write(f"logpersister-operator: {error}\n")
        return 2

    logs.configure(cast("logs.LogFormat", settings.log_format), cast("logs.LogLevel", settings.log_level))
    logging.getLogger("kafka").setLevel(logging.CRITICAL)  # a broker that is away is told in the status
    load_credentials()
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    try:
        with contextlib.ExitStack() as until_it_runs:
            until_it_runs.enter_context(standby.alive(settings.health_port))
            with lead(settings.lease, identity=f"{socket.gethostname()}-{os.getpid()}", stop=stop) as leading:
                if leading and wait_until_served(client.ApiClient(), stop):
                    until_it_runs.close()  # kopf takes over the port
                    run(settings)
    except Lost:
        log.error("leader.lost")  # noqa: TRY400 - another replica goes on; this one begins anew
        return 1
    return 0


def run(settings: Settings) -> None:
    """Run the operator until a signal comes."""
    registry = kopf.OperatorRegistry()
    with ThreadPoolExecutor(settings.threads, thread_name_prefix="round") as pool:
        operator, sentinel = Operator(client.ApiClient(), settings), Sentinel(pool)
        handlers.register(registry, operator, Supervisors(operator, pool), sentinel)
        sentinel.start()
        server, _ = start_http_server(settings.metrics_port, registry=operator.metrics.registry)
        log.info("operator.started", image=settings.image, namespaces=list(settings.namespaces) or "all")
        try:
            asyncio.run(
                kopf.operator(
                    registry=registry,
                    clusterwide=not settings.namespaces,
                    namespaces=settings.namespaces,
                    liveness_endpoint=f"http://0.0.0.0:{settings.health_port}/healthz",
                    standalone=True,
                )
            )
        finally:
            sentinel.stop()
            server.shutdown()


if __name__ == "__main__":
    sys.exit(main())
