"""Certificates and kubeconfigs of the node's parts, all by one authority that lives as long as the node."""

import base64
import json
from pathlib import Path

from tests.cluster.node.place import (
    API_PORT,
    API_SERVICE,
    DOMAIN,
    ETC,
    KUBECONFIG,
    NODE,
    NODE_ADDRESS,
    PKI,
)
from tests.stack.authority import Authority, signing_key

_API_NAMES = ("kubernetes", "kubernetes.default", "kubernetes.default.svc", f"kubernetes.default.svc.{DOMAIN}")
_CLIENTS = {
    "kube-controller-manager": ("system:kube-controller-manager", None),
    "kube-scheduler": ("system:kube-scheduler", None),
    "kubelet": (f"system:node:{NODE}", "system:nodes"),
    "kube-proxy": ("system:kube-proxy", None),
}
"""User and group of each part that talks to the API server."""


def write() -> None:
    """Write all certificates and kubeconfigs."""
    PKI.mkdir(parents=True)
    ETC.mkdir(parents=True, exist_ok=True)
    authority, front = Authority("LogPersister node"), Authority("LogPersister node, front proxy")
    _put("ca.crt", authority.certificate)
    _put("front-proxy-ca.crt", front.certificate)
    _pair("apiserver", authority.server("kube-apiserver", (*_API_NAMES, "localhost", API_SERVICE, NODE_ADDRESS)))
    _pair("kubelet-server", authority.server(f"system:node:{NODE}", (NODE, NODE_ADDRESS)))
    _pair("apiserver-kubelet", authority.client("kube-apiserver-kubelet-client", "system:masters"))
    _pair("front-proxy", front.client("front-proxy-client"))
    private, public = signing_key()
    _put("accounts.key", private)
    _put("accounts.pub", public)
    for part, (user, group) in _CLIENTS.items():
        _kubeconfig(ETC / f"{part}.kubeconfig", authority, authority.client(user, group))
    _kubeconfig(KUBECONFIG, authority, authority.client("admin", "system:masters"))


def _pair(name: str, pair: tuple[bytes, bytes]) -> None:
    _put(f"{name}.key", pair[0])
    _put(f"{name}.crt", pair[1])


def _put(name: str, content: bytes) -> None:
    file = PKI / name
    file.touch(mode=0o600)
    file.write_bytes(content)


def _kubeconfig(file: Path, authority: Authority, pair: tuple[bytes, bytes]) -> None:
    key, certificate = (base64.b64encode(part).decode() for part in pair)
    cluster = {
        "server": f"https://{NODE_ADDRESS}:{API_PORT}",
        "certificate-authority-data": base64.b64encode(authority.certificate).decode(),
    }
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "node", "cluster": cluster}],
        "users": [{"name": "user", "user": {"client-certificate-data": certificate, "client-key-data": key}}],
        "contexts": [{"name": "node", "context": {"cluster": "node", "user": "user"}}],
        "current-context": "node",
    }
    file.touch(mode=0o600)
    file.write_text(json.dumps(config))
