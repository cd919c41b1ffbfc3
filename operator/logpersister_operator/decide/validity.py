"""Which spec is to run: the resource's own when it is valid, else the last one that was."""

import json
from dataclasses import dataclass

from logpersister.manifest import LogPersister, ManifestError, parse
from logpersister_operator.observed import Observed
from logpersister_operator.render.pod import MANIFEST_KEY


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


def check(observed: Observed) -> Validity:
    """Check the spec as the CRD does, and more: what CEL cannot say."""
    last = _last_valid(observed)
    try:
        resource = parse(_manifest(observed))
    except ManifestError as error:
        return Validity(last, "; ".join(str(problem) for problem in error.problems))
    changes = [] if last is None else resource.problems_of_change(last)
    if changes:
        return Validity(last, "; ".join(str(problem) for problem in changes))
    return Validity(resource)


def _manifest(observed: Observed) -> dict[str, object]:
    resource = observed.resource
    return {name: resource[name] for name in ("apiVersion", "kind", "metadata", "spec") if name in resource}


def _last_valid(observed: Observed) -> LogPersister | None:
    """Return the manifest that members of the running revision read."""
    config_map = observed.config_maps().get(observed.status.get("revision", ""))
    if config_map is None:
        return None
    try:
        return parse(json.loads(config_map["data"][MANIFEST_KEY]))
    except (ManifestError, ValueError, KeyError):  # of an older operator, or damaged: nothing can be said of it
        return None
