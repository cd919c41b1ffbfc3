"""Which kinds of our own beside LogPersister can be looked after: defined in this cluster, and allowed to the operator.

`kopf` handles no resource of any kind before it has listed all kinds that it was told of. So a chart that is upgraded
without its CRDs, or with roles of one's own that are older, must not keep LogPersisters waiting.
"""

import asyncio
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Final

import structlog

from logpersister_operator.cluster.client import ApiServer
from logpersister_operator.cluster.connection import ClusterError
from logpersister_operator.cluster.kinds import LOGPERSISTER, RESOURCES, Kind

log = structlog.get_logger(__name__)

LOOK_SECONDS: Final = 10.0
"""Between two looks for kinds that cannot be looked after yet."""
_REMEDIES: Final[Mapping[int, str]] = {
    HTTPStatus.NOT_FOUND: "install its CRD (crds/{plural}.yaml)",
    HTTPStatus.FORBIDDEN: "give the operator the rights on {plural} that docs/security.md lists",
}


class ServedKinds:
    """Kinds that can be looked after in some namespaces. Those that cannot yet are looked for again and again."""

    def __init__(self, cluster: ApiServer, look_seconds: float = LOOK_SECONDS) -> None:
        self._cluster = cluster
        self._look_seconds = look_seconds
        self._told: dict[Kind, str] = {}

    def find(self, namespaces: Iterable[str | None]) -> tuple[Kind, ...]:
        """Return LogPersister, and each further kind that may be listed in all of the namespaces; None stands for all.

        A kind without an answer is left out like one that is refused: the next look finds it.
        """
        places = tuple(namespaces)
        return (LOGPERSISTER, *(one for one in RESOURCES if one is not LOGPERSISTER and self._is_served(one, places)))

    async def until_more(self, known: Iterable[Kind], namespaces: Iterable[str | None]) -> None:
        """Return when a kind that is not known can be looked after, too; never when there is none."""
        missing, places = [one for one in RESOURCES if one not in set(known)], tuple(namespaces)
        found = False
        while not found:
            await asyncio.sleep(self._look_seconds)
            found = await asyncio.to_thread(lambda: any(self._is_served(one, places) for one in missing))

    def _is_served(self, kind: Kind, namespaces: Iterable[str | None]) -> bool:
        try:
            for namespace in namespaces:
                next(self._cluster.pages(kind, namespace, size=1))
        except ClusterError as error:
            self._tell(kind, error)
            return False
        if self._told.pop(kind, None) is not None:
            log.info("kind.served", kind=kind.name)
        return True

    def _tell(self, kind: Kind, error: ClusterError) -> None:
        if self._told.get(kind) == str(error):
            return
        self._told[kind] = str(error)
        remedy = _REMEDIES.get(error.status, "it is asked for again")
        log.warning("kind.not_served", kind=kind.name, error=str(error), remedy=remedy.format(plural=kind.plural))
