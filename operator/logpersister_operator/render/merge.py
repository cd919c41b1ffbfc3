"""Strategic merge of a user's part of a pod over ours, as ``kubectl patch`` does it.

Mappings are merged; lists of a pod that have a merge key are merged by it, an entry of ours that the user names again
is changed in its place, others are added; any other list and every scalar is replaced. ``null`` removes a field, and
an entry ``{"$patch": "delete", <key>: …}`` removes the entry of a list. Source: the ``patchMergeKey`` tags of
Kubernetes' PodSpec.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

MERGE_KEYS: Final[Mapping[str, str]] = {
    "containers": "name",
    "env": "name",
    "ephemeralContainers": "name",
    "hostAliases": "ip",
    "imagePullSecrets": "name",
    "initContainers": "name",
    "ports": "containerPort",
    "topologySpreadConstraints": "topologyKey",
    "volumeDevices": "devicePath",
    "volumeMounts": "mountPath",
    "volumes": "name",
}
_DIRECTIVE: Final = "$patch"
_VARIANTS: Final[Mapping[str, frozenset[str]]] = {
    # Of these only one field besides the key may be set: a user's source takes the place of ours.
    "volumes": frozenset({"name"}),
    "env": frozenset({"name"}),
}


def merge(base: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``base`` with ``patch`` merged over it; neither is changed."""
    merged = dict(base)
    for name, value in patch.items():
        ours = merged.get(name)
        if value is None:
            merged.pop(name, None)
        elif isinstance(value, Mapping) and isinstance(ours, Mapping):
            merged[name] = merge(ours, value)
        elif isinstance(value, Sequence) and not isinstance(value, str) and name in MERGE_KEYS:
            merged[name] = _merge_list(name, ours or [], value)
        else:
            merged[name] = value
    return merged


def _merge_list(name: str, base: Sequence[Any], patch: Sequence[Any]) -> list[Any]:
    key = MERGE_KEYS[name]
    entries = {entry.get(key): entry for entry in base}
    for entry in patch:
        identity = entry.get(key)
        if entry.get(_DIRECTIVE) == "delete":
            entries.pop(identity, None)
        elif identity in entries and name not in _VARIANTS:
            entries[identity] = merge(entries[identity], entry)
        else:
            entries[identity] = dict(entry)
    return list(entries.values())
