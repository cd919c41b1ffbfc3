"""What of a child is kept in memory: what some decision reads. Pure.

An object as the API server gives it is ten times as large: a StatefulSet repeats the pod template of all others, and
`managedFields` every field. Thousands are kept, so equal names are one string.
"""

import sys
from collections.abc import Mapping
from typing import Any, Final

from logpersister_operator.cluster.kinds import CONFIG_MAP, POD, STATEFUL_SET, Document

_METADATA: Final[Mapping[str, Any]] = dict.fromkeys(
    (
        "annotations",
        "creationTimestamp",
        "deletionTimestamp",
        "generation",
        "labels",
        "name",
        "namespace",
        "ownerReferences",
        "resourceVersion",
        "uid",
    ),
    True,
)
_CONTAINER: Final[Mapping[str, Any]] = dict.fromkeys(("lastState", "name", "ready", "restartCount", "state"), True)
_FIELDS: Final[Mapping[str, Mapping[str, Any]]] = {
    CONFIG_MAP.name: {"data": True},
    POD.name: {
        "status": {
            "conditions": True,
            "containerStatuses": _CONTAINER,
            "initContainerStatuses": _CONTAINER,
            "phase": True,
            "podIP": True,
        },
    },
    STATEFUL_SET.name: {
        "spec": {"replicas": True, "template": {"metadata": True}},
        "status": dict.fromkeys(
            ("currentRevision", "observedGeneration", "readyReplicas", "updateRevision", "updatedReplicas"), True
        ),
    },
}
"""By kind: the fields beside the metadata; True is a whole value, and a list is a list of such fields."""
_LONGEST: Final = 100
"""Characters of a text that may be one of many equal ones."""


def kept(child: Document) -> Document:
    """Return what is kept of a child."""
    fields = {"apiVersion": True, "kind": True, "metadata": _METADATA, **_FIELDS.get(child["kind"], {})}
    found: Document = _part(child, fields)
    return found


def _part(value: Any, fields: Any) -> Any:
    if fields is True:
        return _shared(value)
    if isinstance(value, list):
        return [_part(one, fields) for one in value]
    if isinstance(value, Mapping):
        return {name: _part(value[name], inner) for name, inner in fields.items() if name in value}
    return value


def _shared(value: Any) -> Any:
    """Return the same value, of strings that others have too."""
    if isinstance(value, str):
        return sys.intern(value) if len(value) <= _LONGEST else value
    if isinstance(value, Mapping):
        return {_shared(name): _shared(one) for name, one in value.items()}
    return [_shared(one) for one in value] if isinstance(value, list) else value
