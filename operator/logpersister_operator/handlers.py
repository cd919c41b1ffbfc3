"""What `kopf` calls: a daemon for each resource, which waits until something changes and then reconciles."""

import asyncio
from typing import Any, Final

import kopf

from logpersister_operator.cluster.access import Access
from logpersister_operator.cluster.kinds import LOGPERSISTER
from logpersister_operator.runtime import Operator
from logpersister_operator.supervision import FINALIZER, Supervisors
from logpersister_operator.watchdog import WorkerPoolWatchdog

PREFIX: Final = "logpersister.dev"
_GROUP, _, _VERSION = LOGPERSISTER.api_version.partition("/")
_WHERE: Final = (_GROUP, _VERSION, LOGPERSISTER.plural)
"""Our resources: not of the version that the API server prefers, which may be a newer one."""


def configure(settings: kopf.OperatorSettings, resource_selector: str = "") -> None:
    """Set which resources are looked after, and what `kopf` does to them by itself: only a finalizer."""
    settings.persistence.finalizer = FINALIZER
    settings.persistence.progress_storage = kopf.AnnotationsProgressStorage(prefix=PREFIX)
    settings.persistence.diffbase_storage = kopf.AnnotationsDiffBaseStorage(prefix=PREFIX)
    settings.posting.enabled = False
    settings.scanning.disabled = True  # else it would need the right to watch all definitions and namespaces
    settings.background.cancellation_polling = 1.0
    settings.watching.server_timeout = 300
    settings.watching.client_timeout = 330
    settings.networking.request_timeout = 30
    if resource_selector:
        settings.watching.label_selectors[_WHERE] = resource_selector


def connection_info(access: Access) -> kopf.ConnectionInfo:
    """Return the credentials as `kopf` takes them; raises OSError when the token cannot be read."""
    user, password = access.user or (None, None)
    return kopf.ConnectionInfo(
        server=access.server,
        ca_data=access.ca,
        insecure=access.insecure,
        username=user,
        password=password,
        token=access.token(),
        certificate_data=access.certificate,
        private_key_data=access.key,
    )


def register(
    registry: kopf.OperatorRegistry,
    operator: Operator,
    supervisors: Supervisors,
    watchdog: WorkerPoolWatchdog,
    access: Access,
) -> None:
    """Register all handlers."""
    where = _WHERE

    @kopf.on.startup(registry=registry)
    async def start(settings: kopf.OperatorSettings, **_: Any) -> None:
        configure(settings, operator.settings.resource_selector)
        operator.start()

    @kopf.on.login(registry=registry)
    async def login(**_: Any) -> kopf.ConnectionInfo:
        return connection_info(access)  # again when the API server does not take the token any more

    @kopf.on.cleanup(registry=registry)
    async def stop(**_: Any) -> None:
        await asyncio.get_running_loop().run_in_executor(None, operator.stop)

    @kopf.on.probe(registry=registry, id="watchdog")
    async def alive(**_: Any) -> str:
        failure = watchdog.failure()
        if failure is not None:
            raise kopf.PermanentError(failure)  # any other exception would be retried while the probe waits
        return "ok"

    # An index: `kopf` calls it for all resources that are there before it calls anything else for one of them.
    @kopf.index(*where, registry=registry)
    async def groups(body: kopf.Body, **_: Any) -> None:
        operator.groups.seen(body)
        operator.rollout_places.seen(body)

    @kopf.on.event(*where, registry=registry)
    async def changed(body: kopf.Body, type: str | None, **_: Any) -> None:  # noqa: A002 - the name is kopf's
        if type == "DELETED":
            supervisors.gone(body)
        else:
            await supervisors.changed(body)

    @kopf.daemon(*where, registry=registry, id="supervise")
    async def supervise(body: kopf.Body, stopped: kopf.DaemonStopped, **_: Any) -> None:
        await supervisors.supervise(body, stopped)
