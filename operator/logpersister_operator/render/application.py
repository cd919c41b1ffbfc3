"""What is to run: one revision of one resource."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from logpersister.manifest import LogPersister
from logpersister.manifest.revisions.revision import revision_of
from logpersister.manifest.spec import Spec
from logpersister_operator.cluster.kinds import LOGPERSISTER, Document, Kind
from logpersister_operator.member_defaults import NO_DEFAULTS, MemberDefaults
from logpersister_operator.render.ownership import Owner
from logpersister_operator.render.rendering import RENDERING, with_rendering

REVISION_LABEL: Final = "logpersister.dev/revision"
MEMBER: Final = "member"
EXECUTOR: Final = "executor"
SHADOW: Final = "shadow"
"""Members of a group of their own: nothing that is said of members is said of them."""
REPLAY: Final = "replay"
"""Processes of a LogReplay, which owns all that they need."""

_LONGEST_BEGINNING: Final = 52 - len("-0123456789ab-") - len(SHADOW)


@dataclass(frozen=True, slots=True)
class Application:
    """A valid resource with everything that its pods depend on."""

    resource: LogPersister
    namespace: str
    uid: str
    """The uid of the resource: children are owned by that very one, not by another of the same name."""
    image: str
    revision: str
    """12 hexadecimal digits over the spec as far as it defines what is written, the image, `defaults`, `rendering`."""
    secrets_digest: str = ""
    """Changes when a Secret that the resource names changes."""
    defaults: MemberDefaults = NO_DEFAULTS
    """What the administrator gives to pods."""
    rendering: int = RENDERING
    """The version of the operator's own part of its pods."""
    component: str = MEMBER
    """What its members are called: `MEMBER`, or `SHADOW` or `REPLAY` when they have a group of their own."""
    owned_by: Owner | None = None
    """The LogReplay that owns its objects; None: the resource itself."""
    more_secrets: tuple[str, ...] = ()
    """Names of Secrets that its members need beside those of the resource."""

    @classmethod
    def of(
        cls,
        resource: LogPersister,
        *,
        namespace: str,
        uid: str,
        image: str,
        secrets_digest: str,
        defaults: MemberDefaults = NO_DEFAULTS,
        rendering: int = RENDERING,
    ) -> Self:
        """Return the application that a resource is with an image, and with what administrator and operator add."""
        code_version = with_rendering(defaults.code_version(image), rendering)
        revision = revision_of(resource, code_version).hash
        return cls(resource, namespace, uid, image, revision, secrets_digest, defaults, rendering)

    @property
    def name(self) -> str:
        return self.resource.name

    @property
    def revision_name(self) -> str:
        """Name of the objects that each revision has of its own, and its shadow.

        A StatefulSet's name may have 52 characters; the revision tells resources apart that begin alike.
        """
        if self.component == REPLAY:
            return f"{self.owner.name}-{REPLAY}"
        if self.component == SHADOW:
            return f"{self.name[:_LONGEST_BEGINNING]}-{self.revision}-{SHADOW}"
        return f"{self.name}-{self.revision}"

    @property
    def members_name(self) -> str:
        """Name of what concerns all members: a plain name of the resource is often taken by the team's own objects."""
        return f"{self.name}-members"

    @property
    def has_executors(self) -> bool:
        return self.resource.spec.spark.has_executors

    def account_name(self, component: str) -> str:
        """Return the service account of members or executors, which perhaps somebody else has made."""
        return self.resource.spec.service_account.name or f"{self.name}-{component}"

    @property
    def selector(self) -> dict[str, str]:
        """Labels that all pods of the resource have, of whatever revision, and no others."""
        return self.owner.selector

    @property
    def owner(self) -> Owner:
        """The resource that owns objects."""
        return self.owned_by or Owner(LOGPERSISTER, self.namespace, self.name, self.uid)

    @property
    def secret_names(self) -> list[str]:
        """Names of all Secrets that its pods mount, sorted."""
        return sorted({*secret_names(self.resource.spec), *self.more_secrets})

    def child(
        self,
        kind: Kind,
        name: str,
        body: Mapping[str, Any],
        *,
        labels: Mapping[str, str] | None = None,
        annotations: Mapping[str, str] | None = None,
    ) -> Document:
        """Return an object that the resource owns."""
        return self.owner.child(kind, name, body, labels=labels, annotations=annotations)


def secret_names(spec: Spec) -> list[str]:
    """Return the names of all Secrets that members and executors need, sorted, each once."""
    schemas = [one.row_schema for one in spec.shapes()]
    registries = (schema.registry for schema in schemas)
    named = {
        *(schema.hash.secret_name for schema in schemas if schema.hash is not None),
        *(registry.secret_name for registry in registries if registry is not None),
        spec.kafka.security.secret_name,
        spec.kafka.security.ca_secret_name,
        *(name for store in spec.storage.stores for name in (store.secret_name, store.ca_secret_name)),
        None if spec.table is None else spec.table.catalog.secret_name,
        None if spec.finish is None or spec.finish.webhook is None else spec.finish.webhook.secret_name,
    }
    return sorted(name for name in named if name is not None)
