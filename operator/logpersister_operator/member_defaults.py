"""What an administrator gives to all pods of members and executors, below what a resource says itself. Pure."""

import hashlib
import json
from typing import Annotated, Any, Final

from pydantic import Field, ValidationError

from logpersister.forms.constraint import Model
from logpersister.forms.sparse import sparse

CA_DIRECTORY: Final = "/etc/logpersister-ca"
_CA_VOLUME: Final = "extra-ca"
_CA_VARIABLES: Final = ("SSL_CERT_FILE", "AWS_CA_BUNDLE")
"""Read by OpenSSL, for brokers and tokens, and by botocore, for the bucket."""
_API_SERVER: Final = "$(KUBERNETES_SERVICE_HOST)"
"""The kubelet replaces it. Spark's driver reads the variables, too, and a proxy rarely reaches the API server."""
_DIGITS: Final = 12
_USER: Final = 10001
"""User of the image, where nobody says another one."""

Texts = Annotated[dict[str, str], Field(max_length=100)]


class DefaultsError(Exception):
    """Defaults that cannot be used."""


class Proxy(Model):
    """The way out, for S3, tokens and identity providers; Kafka has no proxies."""

    http: str = ""
    https: str = ""
    exceptions: str = ""
    """Hosts and ends of their names that are reached without it, separated by commas; Python reads no networks."""


class ExtraCa(Model):
    """Certificates that members trust in place of those of their image."""

    config_map: str = ""
    """ConfigMap of that name in the namespace of each resource; none when empty."""
    key: str = "ca-certificates.crt"


def _pod_security() -> dict[str, Any]:
    """Return what the restricted Pod Security Standard asks of pods, and the image's user."""
    user = dict.fromkeys(("runAsUser", "runAsGroup", "fsGroup"), _USER)
    return {"runAsNonRoot": True, **user, "seccompProfile": {"type": "RuntimeDefault"}}


def _container_security() -> dict[str, Any]:
    """Return what the restricted Pod Security Standard asks of containers, and a root file system nobody changes."""
    return {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}


class MemberDefaults(Model):
    """The chart's value ``memberDefaults``.

    What is set is part of every revision, so that a canary tries each change of it.
    """

    labels: Texts = Field(default_factory=dict)
    annotations: Texts = Field(default_factory=dict)
    image_pull_secrets: tuple[dict[str, str], ...] = ()
    node_selector: Texts = Field(default_factory=dict)
    tolerations: tuple[dict[str, Any], ...] = ()
    topology_spread: bool = True
    """Whether members are spread over nodes and zones where that is possible."""
    priority_class_name: str = ""
    pod_security_context: dict[str, Any] = Field(default_factory=_pod_security)
    """Security context of pods, in place of the operator's own: without ids the cluster chooses them."""
    container_security_context: dict[str, Any] = Field(default_factory=_container_security)
    resources: dict[str, Any] = Field(default_factory=dict)
    """Merged over the operator's own for the container of members."""
    executor_resources: dict[str, Any] = Field(default_factory=dict)
    proxy: Proxy = Proxy()
    extra_ca: ExtraCa = ExtraCa()

    @property
    def text(self) -> str:
        """What differs from the defaults of the operator, as JSON; empty when nothing does."""
        document = sparse(self)
        return json.dumps(document, sort_keys=True, separators=(",", ":")) if document else ""

    def code_version(self, image: str) -> str:
        """Return the version of the code as revisions have it: the image alone when nothing is set."""
        text = self.text
        return f"{image}#{hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]}" if text else image

    def pod(self, container: str, resources: dict[str, Any]) -> dict[str, Any]:
        """Return the part of a pod's spec to merge over the operator's."""
        fields: dict[str, Any] = {
            "imagePullSecrets": list(self.image_pull_secrets),
            "nodeSelector": self.node_selector,
            "tolerations": list(self.tolerations),
            "priorityClassName": self.priority_class_name,
        }
        found = {name: value for name, value in fields.items() if value}
        inside: dict[str, Any] = {}
        if resources:
            inside["resources"] = resources
        if environment := self._environment():
            inside["env"] = environment
        if self.extra_ca.config_map:
            inside["volumeMounts"] = [{"name": _CA_VOLUME, "mountPath": CA_DIRECTORY, "readOnly": True}]
            found["volumes"] = [{"name": _CA_VOLUME, "configMap": {"name": self.extra_ca.config_map}}]
        if inside:
            found["containers"] = [{"name": container, **inside}]
        return found

    def _environment(self) -> list[dict[str, str]]:
        proxies = {"HTTP_PROXY": self.proxy.http, "HTTPS_PROXY": self.proxy.https}
        exceptions = [_API_SERVER] if any(proxies.values()) else []
        proxies["NO_PROXY"] = ",".join([*exceptions, *filter(None, [self.proxy.exceptions])])
        # Python reads either case, the libraries of sidecars one of them.
        found = {spelt: value for name, value in proxies.items() if value for spelt in (name, name.lower())}
        if self.extra_ca.config_map:
            found |= dict.fromkeys(_CA_VARIABLES, f"{CA_DIRECTORY}/{self.extra_ca.key}")
        return [{"name": name, "value": value} for name, value in found.items()]


NO_DEFAULTS: Final = MemberDefaults()


def parse_defaults(text: str) -> MemberDefaults:
    """Return the defaults that are written as JSON, none for an empty text; raises DefaultsError."""
    try:
        return MemberDefaults.model_validate_json(text or "{}")
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        path = ".".join(str(step) for step in first["loc"])
        raise DefaultsError(
            f"{path or 'the text'}: {first['msg']}; see `memberDefaults` in the chart's values"
        ) from None
