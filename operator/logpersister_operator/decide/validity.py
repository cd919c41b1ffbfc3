"""The spec that is to run: the resource's own when it is valid, else the last one that was."""

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from logpersister.manifest import LogPersister, ManifestError, parse
from logpersister_operator.observed_objects import ConfigMap
from logpersister_operator.observed_state import ObservedState, OwnObjects
from logpersister_operator.render.pod_frame import MANIFEST_KEY
from logpersister_operator.render.workload import SPEC_IMAGE_ANNOTATION

EXECUTORS_REFUSED: Final = (
    "spec.spark: executors are off in this operator, which may not make the role that they need; remove executors, "
    "minExecutors and maxExecutors, or set executors.enabled to true in the values of the operator's chart"
)


@dataclass(frozen=True, slots=True)
class Validity:
    """What was found."""

    runs: LogPersister | None
    """The spec to run; None when there has never been a valid one."""
    problems: str = ""
    """What is wrong with the resource's own spec, a line each; empty when it is the one that runs."""

    @property
    def valid(self) -> bool:
        return not self.problems


def manifest_of(config_map: ConfigMap) -> LogPersister | None:
    """Return the manifest that members of a revision read; None when it cannot be understood."""
    text = config_map.data.get(MANIFEST_KEY)
    manifest = None if text is None else _parsed(text)
    image = config_map.annotations.get(SPEC_IMAGE_ANNOTATION)
    if manifest is None or image is None:
        return manifest
    return manifest.model_copy(update={"spec": manifest.spec.model_copy(update={"image": image})})


def manifest_of_revision(own: OwnObjects, revision: str | None) -> LogPersister | None:
    """Return the manifest of a revision; None when its ConfigMap is gone, or cannot be understood."""
    config_map = own.config_maps().get(revision or "")
    return None if config_map is None else manifest_of(config_map)


@lru_cache(maxsize=512)
def _parsed(text: str) -> LogPersister | None:
    """Parse a manifest as the operator wrote it. It hardly ever changes, and each reconciliation reads it."""
    try:
        return parse(json.loads(text))
    except (ManifestError, ValueError):  # of an older operator, or damaged: nothing can be said of it
        return None


def check(observed: ObservedState) -> Validity:
    """Check the spec as the CRD does, and more: what CEL cannot say."""
    revisions = (observed.status.revision, observed.resource.stable)  # what runs, else what runs beside it
    found = (manifest_of_revision(observed.own, one) for one in revisions)
    last = next((manifest for manifest in found if manifest is not None), None)
    resource = observed.resource.manifest
    if resource is None:
        return Validity(last, observed.resource.problems)
    problems = [] if last is None else [str(problem) for problem in resource.problems_of_change(last)]
    if resource.spec.spark.has_executors and not observed.executors:
        problems.append(EXECUTORS_REFUSED)
    if problems:
        return Validity(last, "; ".join(problems))
    return Validity(resource)
