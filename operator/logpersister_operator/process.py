"""The operator's process."""

import asyncio
import logging
import signal
import socket
import sys
import threading
import uuid
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Final, cast

import kopf
import structlog

from logpersister.pages.history import History
from logpersister.pages.site import Site
from logpersister.report import logs
from logpersister.report.server import ReportServer
from logpersister_operator import handlers
from logpersister_operator.cluster.access import Access, AccessError, find_access
from logpersister_operator.cluster.client import ApiServer
from logpersister_operator.cluster.connection import Connection
from logpersister_operator.cluster.lease import Candidate, Terms
from logpersister_operator.collectors.actor import Collectors
from logpersister_operator.health import Health, Watchdog, serve
from logpersister_operator.leader import Candidacy, Leadership
from logpersister_operator.observe.namespaces import Namespaces
from logpersister_operator.observe.served_kinds import ServedKinds
from logpersister_operator.pages.endpoints import OperatorEndpoints
from logpersister_operator.pages.operator_source import EVERY_SECONDS, POINTS, SUBJECTS, OperatorSource
from logpersister_operator.replays.replays_actor import Replays
from logpersister_operator.runtime import Operator
from logpersister_operator.settings import PREFIX, Settings, SettingsError
from logpersister_operator.supervision import Supervisors

log = structlog.get_logger(__name__)

_METRICS_PORT: Final = f"{PREFIX}METRICS_PORT"
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
    health = Health(candidacy.failure, candidacy.unready)
    with serve(settings.health_port, health), candidacy.lead(stop) as leadership:
        reader = ApiServer(Connection(access))
        namespaces, served = Namespaces(reader, settings), ServedKinds(reader)
        health.unready = lambda: namespaces.failure
        if leadership is not None:
            while (found := namespaces.wait(stop)) is not None:
                if not run(settings, access, leadership, namespaces, served, found, health):
                    break
                health.failure, health.unready = candidacy.failure, lambda: namespaces.failure
                _listen_to_signals(stop)  # kopf did, and does no more
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
    leadership: Leadership,
    namespaces: Namespaces,
    served: ServedKinds,
    found: tuple[str, ...],
    health: Health,
) -> bool:
    """Run the operator until a signal comes, or until namespaces or kinds are others, or etcd was restored.

    In the end it returns True, to run anew with what is there by then.

    ``found`` are the namespaces, none for all of them.
    """
    registry = kopf.OperatorRegistry()
    places = (settings.namespaces and found) or (None,)
    known = served.find(places)
    with ThreadPoolExecutor(settings.threads, thread_name_prefix="reconcile") as pool:
        writer = ApiServer(Connection(access), before_write=leadership.check)
        operator = Operator(access, settings, writer, namespaces.ages, known)
        watchdog = Watchdog(pool)
        collectors, replays = Collectors(operator.commons), Replays(operator.commons)
        operator.join(collectors)
        operator.join(replays)
        kinds = [Supervisors(actor, pool) for actor in (operator, collectors, replays) if actor.kind in known]
        handlers.register(registry, operator, kinds, access)
        health.failure = watchdog.failure
        health.unready = lambda: namespaces.failure or operator.unready(places)
        log.info(
            "operator.started", image=settings.image, namespaces=list(found) or "all", kinds=[one.name for one in known]
        )
        source = OperatorSource(operator.glances, collectors.glances, replays.shown)
        with (
            Site(source, EVERY_SECONDS, history=History(POINTS, SUBJECTS)) as site,
            ReportServer(f":{settings.metrics_port}", OperatorEndpoints(operator.metrics, site), _METRICS_PORT),
        ):
            try:
                return asyncio.run(
                    _serve(registry, operator, namespaces, found, watchdog, lambda: served.until_more(known, places))
                )
            finally:
                for supervisors in kinds:
                    supervisors.close()


async def _serve(
    registry: kopf.OperatorRegistry,
    operator: Operator,
    namespaces: Namespaces,
    found: tuple[str, ...],
    watchdog: Watchdog,
    more_kinds: Callable[[], Coroutine[None, None, None]],
) -> bool:
    """Serve until the end; return whether it came because another operator must begin."""
    changed, stop = asyncio.Event(), asyncio.Event()

    async def look(until: Coroutine[None, None, None]) -> None:
        await until
        changed.set()
        stop.set()

    @kopf.on.cleanup(registry=registry)
    async def let_go(**_: object) -> None:
        stop.set()  # after a signal kopf would wait five seconds for its own task that waits for this

    looks = [namespaces.until_changed(found, lambda: operator.outdated), more_kinds()]
    canaries = namespaces.look_for_canaries(operator.rollout_places.select)
    tasks = [asyncio.create_task(one) for one in (*map(look, looks), watchdog.run(), canaries)]
    try:
        await kopf.operator(
            registry=registry,
            clusterwide=not found,
            namespaces=found,
            standalone=True,
            stop_flag=stop,
        )
    finally:
        for task in tasks:
            task.cancel()
    return changed.is_set()
