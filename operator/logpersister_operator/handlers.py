"""What `kopf` calls: a daemon for each resource, which waits until something changes and then reconciles."""

import asyncio
import itertools
from collections.abc import Iterable, Iterator
from typing import Any, Final

import kopf

from logpersister.backoff import Backoff
from logpersister_operator.cluster.access import Access
from logpersister_operator.cluster.kinds import RESOURCES, Kind
from logpersister_operator.observe.streams import SILENCE_SECONDS
from logpersister_operator.runtime import Operator
from logpersister_operator.supervision import FINALIZER, Supervisors

PREFIX: Final = "logpersister.dev"
_BACKOFF: Final = Backoff(1.0, 30.0)


def _where(kind: Kind) -> tuple[str, str, str]:
    """Return resources of a kind: not of the version that the API server prefers, which may be a newer one."""
    group, _, version = kind.api_version.partition("/")
    return group, version, kind.plural


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
    settings.watching.inactivity_timeout = SILENCE_SECONDS
    settings.networking.request_timeout = 30
    settings.networking.error_backoffs = _Patience()
    if resource_selector:
        for kind in RESOURCES:
            settings.watching.label_selectors[_where(kind)] = resource_selector


class _Patience:
    """Pauses of `kopf` between attempts. It would end for all namespaces when one is refused for a minute."""

    def __iter__(self) -> Iterator[float]:
        return (_BACKOFF.pause(failures) for failures in itertools.count(1))


def connection_info(access: Access) -> kopf.ConnectionInfo:
    """Return the credentials as `kopf` takes them; raises AccessError when there are none."""
    configuration = access.configuration
    scheme, _, token = (access.authorization() or "").partition(" ")
    return kopf.ConnectionInfo(
        server=configuration.host,
        ca_path=configuration.ssl_ca_cert,
        insecure=not configuration.verify_ssl,
        scheme=scheme or None,
        token=token or None,
        certificate_path=configuration.cert_file,
        private_key_path=configuration.key_file,
        proxy_url=configuration.proxy,
    )


def register(
    registry: kopf.OperatorRegistry,
    operator: Operator,
    kinds: Iterable[Supervisors],
    access: Access,
) -> None:
    """Register all handlers: those of the process, and those of each kind of resource."""
    refused: Any = None

    @kopf.on.startup(registry=registry)
    async def start(settings: kopf.OperatorSettings, **_: Any) -> None:
        configure(settings, operator.settings.resource_selector)
        operator.start()

    @kopf.on.login(registry=registry)
    async def login(**_: Any) -> kopf.ConnectionInfo:
        nonlocal refused
        if refused is not None:  # the API server does not take this any more
            await asyncio.to_thread(access.renew, refused)
        refused = access.configuration
        return await asyncio.to_thread(connection_info, access)

    @kopf.on.cleanup(registry=registry)
    async def stop(**_: Any) -> None:
        await asyncio.get_running_loop().run_in_executor(None, operator.stop)

    for supervisors in kinds:
        _register_kind(registry, supervisors)


def _register_kind(registry: kopf.OperatorRegistry, supervisors: Supervisors) -> None:
    where, actor = _where(supervisors.actor.kind), supervisors.actor

    # An index: `kopf` calls it for all resources that are there before it calls anything else for one of them.
    @kopf.index(*where, registry=registry, id=f"seen-{actor.kind.plural}")
    async def seen(body: kopf.Body, **_: Any) -> None:
        body["metadata"].pop("managedFields", None)  # half of what `kopf` keeps of a resource, and nobody reads it
        actor.seen(body)

    @kopf.on.event(*where, registry=registry)
    async def changed(body: kopf.Body, type: str | None, **_: Any) -> None:  # noqa: A002 - the name is kopf's
        if type == "DELETED":
            supervisors.gone(body)
        else:
            await supervisors.changed(body)

    @kopf.daemon(*where, registry=registry, id="supervise")
    async def supervise(body: kopf.Body, stopped: kopf.DaemonStopped, **_: Any) -> None:
        await supervisors.supervise(body, stopped)
