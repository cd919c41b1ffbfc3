"""What runs: the ConfigMap, the StatefulSet and the PodDisruptionBudget."""

import json
from dataclasses import dataclass
from typing import Final

from logpersister.forms.sparse import sparse
from logpersister_operator.cluster.kinds import CONFIG_MAP, POD_DISRUPTION_BUDGET, STATEFUL_SET, Document
from logpersister_operator.member_defaults import DefaultsError, MemberDefaults, parse_defaults
from logpersister_operator.observed_objects import ConfigMap
from logpersister_operator.render import rendering
from logpersister_operator.render.application import REVISION_LABEL, Application
from logpersister_operator.render.ownership import COMPONENT_LABEL, Owner
from logpersister_operator.render.pod import EXECUTOR_KEY, executor_pod, member_template
from logpersister_operator.render.pod_frame import MANIFEST_KEY

SPEC_IMAGE_ANNOTATION: Final = "logpersister.dev/spec-image"
"""Annotation of a ConfigMap: ``spec.image``, which members need not know of, and perhaps do not."""
IMAGE_ANNOTATION: Final = "logpersister.dev/image"
"""Annotation of a ConfigMap: with it a revision can be made again when the operator's image is another one."""

DEFAULTS_ANNOTATION: Final = "logpersister.dev/member-defaults"
"""Annotation of a ConfigMap: what the administrator gave to the pods; not there when that was nothing."""

RENDERING_ANNOTATION: Final = "logpersister.dev/rendering"
"""Annotation of a ConfigMap: version of the operator's own part of the pods; not there when that is the first."""

RESTART_ANNOTATION: Final = "logpersister.dev/restart"
"""Annotation of the resource, and then of its pods: another value restarts the members one after the other."""


@dataclass(frozen=True, slots=True)
class WrittenSettings:
    """What a revision was made with beside its manifest."""

    image: str
    defaults: MemberDefaults
    rendering: int


def settings_of(config_map: ConfigMap) -> WrittenSettings | None:
    """Return what the ConfigMap of a revision says; None when another version wrote it, or somebody changed it."""
    annotations = config_map.annotations
    version = rendering.read(annotations.get(RENDERING_ANNOTATION, ""))
    try:
        defaults = parse_defaults(annotations.get(DEFAULTS_ANNOTATION, ""))
    except DefaultsError:
        return None
    return None if version is None else WrittenSettings(annotations.get(IMAGE_ANNOTATION, ""), defaults, version)


def config_map(app: Application) -> Document:
    """Return what members read: the manifest, and the template of executors.

    The manifest is whole, so that it can go on being run while a newer spec of the resource is invalid. It leaves out
    what equals its default: members of the release before know no field that this one has added.
    """
    manifest = sparse(app.resource)
    image = manifest["spec"].pop("image", None)
    manifest["metadata"] = {"name": app.name, "namespace": app.namespace}
    data = {MANIFEST_KEY: _text(manifest)}
    if app.has_executors:
        data[EXECUTOR_KEY] = _text(executor_pod(app))
    labels = {COMPONENT_LABEL: app.component, REVISION_LABEL: app.revision}
    written = {
        IMAGE_ANNOTATION: app.image,
        SPEC_IMAGE_ANNOTATION: image or "",
        DEFAULTS_ANNOTATION: app.defaults.text,
        RENDERING_ANNOTATION: rendering.written(app.rendering),
    }
    annotations = {name: value for name, value in written.items() if value}
    return app.child(CONFIG_MAP, app.revision_name, {"data": data}, labels=labels, annotations=annotations)


def stateful_set(app: Application, members: int, restart: str = "") -> Document:
    """Return the members of this revision.

    Stable names give them static membership: one that restarts in time does not rebalance the group. All start and
    stop at once, for none waits for another. With another ``restart`` they are replaced one after the other.
    """
    template = member_template(app)
    if restart:
        template["metadata"]["annotations"] = template["metadata"]["annotations"] | {RESTART_ANNOTATION: restart}
    labels = {COMPONENT_LABEL: app.component, REVISION_LABEL: app.revision}
    spec = {
        "replicas": members,
        "serviceName": app.members_name,
        "podManagementPolicy": "Parallel",
        "updateStrategy": {"type": "RollingUpdate"},
        "revisionHistoryLimit": 1,
        "selector": {"matchLabels": app.selector | labels},
        "template": template,
    }
    return app.child(STATEFUL_SET, app.revision_name, {"spec": spec}, labels=labels)


def disruption_budget(owner: Owner, name: str, component: str) -> Document:
    """Return the budget of all pods of a component: a drain takes them one by one, and is never blocked by one alone.

    Nor by those that are not ready: they hold no work that another one could not do, and their node must go.
    """
    spec = {
        "maxUnavailable": 1,
        "unhealthyPodEvictionPolicy": "AlwaysAllow",
        "selector": {"matchLabels": owner.selector | {COMPONENT_LABEL: component}},
    }
    return owner.child(POD_DISRUPTION_BUDGET, name, {"spec": spec})


def _text(document: object) -> str:
    return json.dumps(document, indent=2, sort_keys=True) + "\n"
