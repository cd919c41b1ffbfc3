"""How members are called in their group (``group.instance.id``): after the pod and the resource. Pure.

``clicks-4f0c9d2b7a61-0.1f3a9c2e`` is the pod ``clicks-4f0c9d2b7a61-0`` of the resource whose uid begins with
``1f3a9c2e``. So no two members are called alike, whatever namespace, cluster or operator they are of. Pods of the first
rendering (`rendering`) are called after the pod only (docs/design/groups.md).
"""

import re
from typing import Final

VARIABLE: Final = "LOGPERSISTER_INSTANCE_ID"
"""Environment variable of members; those of a release that does not know it are called after the pod."""

_DIGITS: Final = 8
_OF_A_RESOURCE: Final = re.compile(r"[a-z0-9-]+-[0-9a-f]{12}-[0-9]+\.([0-9a-f]{8})")


def instance_id(pod: str, uid: str) -> str:
    """Return the name of the member in a pod of the resource with this uid."""
    return f"{pod}.{uid[:_DIGITS]}"


def pod_of(name: str, uid: str) -> str:
    """Return the pod of a member that is called after the resource with this uid; any other name as it is."""
    return name.removesuffix(instance_id("", uid))


def resource_of(name: str) -> str | None:
    """Return how the uid of the resource begins after which a member is called; None when it is called otherwise."""
    found = _OF_A_RESOURCE.fullmatch(name)
    return None if found is None else found.group(1)


def is_of(name: str, uid: str) -> bool:
    """Whether a member is called after the resource with this uid."""
    return name.endswith(instance_id("", uid))
