"""Whether a rollout that the operator's own settings cause may begin: only so many resources roll out at once. Pure.

A new default image is a new revision of every resource, and so are other pods that a new operator makes. A user's own
change neither waits nor counts.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from logpersister.report.human import plural
from logpersister_operator.decide.health.observed_fleets import fleets
from logpersister_operator.observed_state import ObservedState, OwnObjects, ResourceKey, named
from logpersister_operator.render.application import Application
from logpersister_operator.render.workload import settings_of
from logpersister_operator.rollout.fleet import NONE
from logpersister_operator.rollout.record import RolloutRecord
from logpersister_operator.rollout.transitions import ONGOING, Phase

_BEGUN: Final = ONGOING | {Phase.RETURNING, Phase.HALTED}


@dataclass(frozen=True, slots=True)
class RolloutStanding:
    """How far a resource is with what the operator's settings cause."""

    wants: bool = False
    """Whether its rollout has not begun, and may."""
    holds: bool = False
    """Whether its rollout goes on, or has failed: it has one of the places."""
    known: bool = True
    """Whether this process has reconciled the resource."""


@dataclass(frozen=True, slots=True)
class RolloutLimits:
    """What the administrator allows."""

    concurrent: int = 0
    """The most resources that roll out at once; 0 for any number."""
    canary_namespaces: Sequence[str] = ()
    """Names of namespaces, with ``*``, whose resources come before all others."""
    selected_namespaces: Collection[str] | None = ()
    """Such namespaces by their labels; None as long as they are not known."""

    @property
    def are_set(self) -> bool:
        return self.concurrent > 0 or bool(self.canary_namespaces) or self.selected_namespaces != ()

    def is_canary(self, key: ResourceKey) -> bool:
        named = any(fnmatchcase(key.namespace, pattern) for pattern in self.canary_namespaces)
        return named or key.namespace in (self.selected_namespaces or ())


def as_before(own: OwnObjects, record: RolloutRecord | None, app: Application) -> Application | None:
    """Return the stable revision with the present spec, when only the operator's settings tell it from `app`.

    None when the user has changed what makes a revision, and when nothing has proven itself yet.
    """
    config_map = None if record is None else own.config_maps().get(record.stable or "")
    if record is None or config_map is None or app.revision == record.stable:
        return None
    settings = settings_of(config_map)
    if settings is None:
        return None
    before = Application.of(
        app.resource,
        namespace=app.namespace,
        uid=app.uid,
        image=app.resource.spec.image or settings.image,
        secrets_digest=app.secrets_digest,
        defaults=settings.defaults,
        rendering=settings.rendering,
    )
    return before if before.revision == record.stable else None


def standing(observed: ObservedState, app: Application, *, paused: bool, held: bool) -> RolloutStanding:
    """Return how far a resource is. One that cannot begin now waits without keeping others waiting.

    Args:
        held: whether it had a place. It keeps that to the end of its rollout, before which the stable revision may go.
    """
    record, own = observed.resource.record, observed.own
    stands_still = paused or bool(observed.secrets.missing) or observed.is_being_deleted
    if record is None or stands_still:
        return RolloutStanding()
    stable = fleets(own, observed.now, observed.told).get(record.stable or "", NONE)
    if record.phase is Phase.HALTED and stable.wanted > 0 and stable.ready == 0 and stable.lasting:
        return RolloutStanding()  # it fails for a reason of its own: what failed says nothing about the new revision
    begun = record.candidate == app.revision and record.phase in _BEGUN
    if begun and held and record.stable not in own.config_maps():
        return RolloutStanding(holds=True)
    if as_before(own, record, app) is None:
        return RolloutStanding()
    return RolloutStanding(wants=not begun, holds=begun)


def first_standing(record: RolloutRecord | None) -> RolloutStanding:
    """Return what the record of its rollout tells of a resource that this process has not reconciled."""
    return RolloutStanding(holds=record is not None and record.phase in ONGOING, known=False)


def turn(key: ResourceKey, standings: Mapping[ResourceKey, RolloutStanding], limits: RolloutLimits) -> str:
    """Return why the rollout of a resource may not begin yet, in words; empty when it may."""
    if standings[key].holds:
        return ""
    if not limits.is_canary(key):
        if limits.selected_namespaces is None:
            return "the API server has not said yet which namespaces canaryNamespaceSelector selects"
        first = [
            other
            for other, its in standings.items()
            if limits.is_canary(other) and (its.wants or its.holds or not its.known)
        ]
        if first:
            return f"resources of canary namespaces come first: {named(first, key.namespace)}"
    holders = [other for other, its in standings.items() if its.holds]
    if limits.concurrent and len(holders) >= limits.concurrent:
        most = plural(limits.concurrent, "resource")
        return f"at most {most} at once, those whose rollout has failed included: {named(holders, key.namespace)}"
    return ""
