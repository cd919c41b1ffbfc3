"""What a replay was planned with: the corrected manifest, and that of the backup. Pure.

A ConfigMap keeps both, so that what becomes of the LogPersister later changes no replay that has begun.
"""

import json
from dataclasses import dataclass
from typing import Final

from logpersister.forms.sparse import sparse
from logpersister.manifest import LogPersister, ManifestError, parse
from logpersister.manifest.kubernetes_resource import API_VERSION
from logpersister.manifest.log_replay import BackupPlace, ReplaySpec
from logpersister.manifest.resource import KIND
from logpersister_operator.decide.conditions import Obstacle
from logpersister_operator.decide.validity import EXECUTORS_REFUSED, manifest_of
from logpersister_operator.observed_objects import ConfigMap
from logpersister_operator.render.application import secret_names
from logpersister_operator.replays.replay_reasons import ReplayReason

BACKUP_KEY: Final = "backup.json"
"""Key of the ConfigMap of a plan, and the file that it becomes."""


@dataclass(frozen=True, slots=True)
class Found:
    """A LogPersister as the API server has it; without a manifest it is missing, or its spec is invalid."""

    manifest: LogPersister | None = None
    problems: str = ""
    """Why its spec is invalid; empty for a resource that is missing."""


MISSING: Final = Found()


@dataclass(frozen=True, slots=True)
class ReplayPlan:
    """What the processes of a replay are given."""

    manifest: LogPersister
    """The resource, with the generation of the replay."""
    backup: LogPersister | None = None
    """None: Kafka alone is read."""

    @property
    def secrets(self) -> list[str]:
        """Names of all Secrets that the processes need, sorted."""
        specs = [self.manifest.spec, *([] if self.backup is None else [self.backup.spec])]
        return sorted({name for spec in specs for name in secret_names(spec)})


def plan_of(spec: ReplaySpec, resource: Found, backup: Found | None, *, executors: bool) -> ReplayPlan | Obstacle:
    """Return what a replay is planned with, or why it cannot be planned.

    Args:
        spec: of the replay.
        resource: the LogPersister that it names.
        backup: the LogPersister that stores the backup; None when it names none.
        executors: whether members may have executors under this operator.
    """
    live = resource.manifest
    if live is None:
        if not resource.problems:
            return Obstacle(
                ReplayReason.RESOURCE_MISSING,
                f'spec.resource: there is no LogPersister "{spec.resource}" in this namespace; create it, or '
                "another LogReplay with its name",
            )
        return Obstacle(ReplayReason.RESOURCE_UNFIT, f"LogPersister {spec.resource} is invalid: {resource.problems}")
    if live.spec.spark.has_executors and not executors:
        return Obstacle(ReplayReason.RESOURCE_UNFIT, f"LogPersister {spec.resource}: {EXECUTORS_REFUSED}")
    if spec.generation <= live.spec.generation:
        return Obstacle(
            ReplayReason.GENERATION_TOO_LOW,
            f"spec.generation: {spec.generation} must be higher than {live.spec.generation}, in which LogPersister "
            f"{spec.resource} stores; create a LogReplay with a higher one",
        )
    manifest = live.model_copy(update={"spec": live.spec.model_copy(update={"generation": spec.generation})})
    place = spec.source.place
    if place is None:
        return ReplayPlan(manifest)
    found = _backup(live, place, backup)
    return found if isinstance(found, Obstacle) else ReplayPlan(manifest, found)


def _backup(live: LogPersister, place: BackupPlace, found: Found | None) -> LogPersister | Obstacle:
    """Return the manifest of a backup, whose records are read by the same brokers' offsets as those of ``live``."""
    if place.storage is not None:
        sections = {
            "kafka": {**sparse(live.spec.kafka), "groupId": place.group},
            "storage": sparse(place.storage),
            "output": {"kafka": {}},
        }
        document = {"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": live.name}, "spec": sections}
        try:
            return parse(document)
        except ManifestError as error:
            return Obstacle(ReplayReason.BACKUP_UNFIT, f"spec.source: {error}")
    if found is None or (found.manifest is None and not found.problems):
        return Obstacle(
            ReplayReason.BACKUP_MISSING,
            f'spec.source: there is no LogPersister "{place.resource}" in this namespace; create it, or '
            "another LogReplay that names the bucket",
        )
    if found.manifest is None:
        return Obstacle(ReplayReason.BACKUP_UNFIT, f"LogPersister {place.resource} is invalid: {found.problems}")
    return found.manifest  # whether its objects tell enough is for the command to say


def text_of(manifest: LogPersister) -> str:
    """Return a manifest as a file; without its own image, which processes need not know."""
    document = sparse(manifest)
    document["spec"].pop("image", None)
    return json.dumps(document, indent=2, sort_keys=True) + "\n"


def plan_in(config_map: ConfigMap) -> ReplayPlan | None:
    """Return the plan that a ConfigMap keeps; None when it cannot be understood."""
    manifest = manifest_of(config_map)
    if manifest is None:
        return None
    text = config_map.data.get(BACKUP_KEY)
    if text is None:
        return ReplayPlan(manifest)
    try:
        return ReplayPlan(manifest, parse(json.loads(text)))
    except (ManifestError, ValueError):  # of an older operator, or damaged
        return None
