"""The shadow of a revision: its members in a group and under a prefix of their own, beside those of the stable one."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, Self

from logpersister_operator.cluster.kinds import Document
from logpersister_operator.render.application import MEMBER, SHADOW, Application
from logpersister_operator.render.pod_frame import MANIFEST_KEY, SECRETS_DIRECTORY
from logpersister_operator.render.workload import config_map, stateful_set

STABLE_DIRECTORY: Final = "/etc/logpersister-stable"
GROUP_ANNOTATION: Final = "logpersister.dev/shadow-group"
"""Annotation of a shadow's pods: the group says to which shadow deployment they belong."""


@dataclass(frozen=True, slots=True)
class ShadowDeployment:
    """One attempt at the shadow of a revision, with a group and a prefix that nobody has used before."""

    app: Application
    """The application as it runs in the shadow."""
    members: int

    @classmethod
    def of(cls, app: Application, since: datetime, begun: tuple[str, str] = ("", "")) -> Self | None:
        """Return the shadow deployment that began at a time; None when the spec wants no shadow.

        Args:
            begun: group and prefix of an earlier reconciliation. The same deployment keeps them, whatever the spec
                says by now: its objects and its committed offsets are there.
        """
        spec = app.resource.spec
        wanted = spec.rollout.shadow
        if wanted is None:
            return None
        number = int(since.timestamp())
        names = wanted.group_of(app.revision, number), wanted.prefix_of(app.revision, number)
        if all(name.endswith(f"{app.revision}.{number}") for name in begun):
            names = begun
        group_id, prefix = names
        changes = {
            "kafka": spec.kafka.model_copy(update={"group_id": group_id}),
            "storage": spec.storage.model_copy(update={"prefix": prefix, "copies": ()}),
            "rollout": spec.rollout.model_copy(update={"shadow": None}),
            "finish": None,  # nobody reads its folders, and nobody is told of them
            "table": None,  # its rows are those of the stable group, and a shadow's objects are deleted
            "members": wanted.members,
        }
        resource = app.resource.model_copy(update={"spec": spec.model_copy(update=changes)})
        return cls(replace(app, resource=resource, component=SHADOW), wanted.members)

    @property
    def group_id(self) -> str:
        return self.app.resource.group_id

    @property
    def prefix(self) -> str:
        return self.app.resource.spec.storage.prefix

    def children(self, stable: str, secrets: Sequence[str]) -> list[Document]:
        """Return what the try needs beside what the members of its revision do.

        Args:
            stable: the revision that it is compared with, whose ConfigMap it reads.
        """
        members = stateful_set(self.app, self.members)
        template = members["spec"]["template"]
        template["metadata"]["annotations"] = template["metadata"]["annotations"] | {GROUP_ANNOTATION: self.group_id}
        _compare(template["spec"], f"{self.app.name}-{stable}", secrets)
        return [config_map(self.app), members]


def _compare(pod: Document, stable: str, secrets: Sequence[str]) -> None:
    """Let a pod of a member read what the stable revision reads; a Secret that is gone is found missing by itself."""
    container = next(one for one in pod["containers"] if one["name"] == MEMBER)
    container["args"] = [*container["args"], "--shadow-of", f"{STABLE_DIRECTORY}/{MANIFEST_KEY}"]
    volumes: list[Document] = [{"name": "stable-revision", "configMap": {"name": stable}}]
    mounts: list[Document] = [{"name": "stable-revision", "mountPath": STABLE_DIRECTORY, "readOnly": True}]
    there = {one["mountPath"] for one in container["volumeMounts"]}
    for number, name in enumerate(secrets):
        path = f"{SECRETS_DIRECTORY}/{name}"
        if path not in there:
            volumes.append({"name": f"stable-secret-{number}", "secret": {"secretName": name, "optional": True}})
            mounts.append({"name": f"stable-secret-{number}", "mountPath": path, "readOnly": True})
    pod["volumes"] = [*pod["volumes"], *volumes]
    container["volumeMounts"] = [*container["volumeMounts"], *mounts]
