"""The shadow of the candidate: which shadow deployment is wanted, and what is observed of it."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from logpersister.report.shadow import Both
from logpersister_operator.cluster.kinds import Document
from logpersister_operator.crd.status_rollout import ShadowState, shadow_of
from logpersister_operator.decide.health.observed_fleets import fleet_of
from logpersister_operator.decide.revisions.observed_evidence import evidence_of, reports_of
from logpersister_operator.decide.validity import manifest_of_revision
from logpersister_operator.observed_state import MemberReport, OwnObjects
from logpersister_operator.render.application import SHADOW, Application, secret_names
from logpersister_operator.render.shadow_deployment import GROUP_ANNOTATION, ShadowDeployment
from logpersister_operator.rollout.record import RolloutRecord
from logpersister_operator.rollout.shadow_evidence import MOST_EXAMPLES, UNSEEN, Comparison, Shadow
from logpersister_operator.rollout.transitions import Phase


def shadow_deployment(
    app: Application, record: RolloutRecord | None, begun: ShadowState | None
) -> ShadowDeployment | None:
    """Return the shadow deployment of a rollout; None when no shadow of this application is wanted.

    ``begun`` is what the last status says of the shadow.
    """
    if record is None or record.phase is not Phase.SHADOWING or record.candidate != app.revision:
        return None
    return ShadowDeployment.of(app, record.since, ("", "") if begun is None else (begun.group_id, begun.prefix))


def shadow(
    present: ShadowDeployment | None,
    own: OwnObjects,
    reports: Mapping[str, MemberReport],
    now: datetime,
    told: Mapping[str, str],
) -> Shadow:
    """Return what is observed of the present shadow deployment, without the rest of an earlier one."""
    if present is None:
        return UNSEEN
    pods = [pod for pod in own.pods(SHADOW) if pod.annotations.get(GROUP_ANNOTATION) == present.group_id]
    found = own.shadows().get(present.app.revision)
    if found is not None and found.template_annotations.get(GROUP_ANNOTATION) != present.group_id:
        found = None
    by_name = {name: one for name, one in reports_of(pods, reports).items() if one["group"] == present.group_id}
    compared = _comparison(list(by_name.values()))
    return Shadow(fleet_of(found, pods, now, told), evidence_of(by_name, present.app.resource.spec), compared)


def state(present: ShadowDeployment | None, seen: Shadow) -> ShadowState | None:
    """Return ``status.rollout.shadow``; None when no shadow is wanted."""
    return None if present is None else shadow_of(present.group_id, present.prefix, present.members, seen)


def children(present: ShadowDeployment | None, own: OwnObjects, stable: str | None, members: int) -> list[Document]:
    """Return the children of the present shadow deployment; nothing when it has no members."""
    if present is None or members == 0 or stable is None:
        return []
    manifest = manifest_of_revision(own, stable)
    return present.children(stable, [] if manifest is None else secret_names(manifest.spec))


def generation(own: OwnObjects, lead: Application, record: RolloutRecord) -> int:
    """Return the generation that members write: that of a revision in the shadow is not written yet."""
    manifest = manifest_of_revision(own, record.stable) if record.phase is Phase.SHADOWING else None
    return (lead.resource if manifest is None else manifest).spec.generation


def _comparison(reports: Sequence[Mapping[str, Any]]) -> Comparison:
    found = [one["shadow"] for one in reports if one.get("shadow") is not None]
    return Comparison(
        answers=len(found),
        partitions=sum(one["partitions"] for one in found),
        ranges=sum(one["ranges"] for one in found),
        records=_sum(found, "records"),
        objects=_sum(found, "objects"),
        bytes=_sum(found, "bytes"),
        checksums=sum(one["checksums"]["compared"] for one in found),
        differences=sum(one["differences"] for one in found),
        examples=tuple(_example(example) for one in found for example in one["examples"])[:MOST_EXAMPLES],
        error=next((str(one["error"]) for one in found if one["error"]), ""),
    )


def _sum(found: Sequence[Mapping[str, Any]], name: str) -> Both:
    return sum((Both(**one[name]) for one in found), Both())


def _example(one: Mapping[str, Any]) -> str:
    return f"{one['topic']} partition {one['partition']} offsets {one['start']} to {one['end']}: {one['message']}"
