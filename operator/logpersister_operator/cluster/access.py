"""Where the API server is and who asks it: a pod's service account, elsewhere a kubeconfig."""

import base64
import os
import ssl
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""What the kubelet gives to a pod; it replaces the token before that expires."""
_HOST, _PORT = "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"


class AccessError(Exception):
    """There are no credentials, or none that can be used."""


@dataclass(frozen=True, slots=True)
class Access:
    """An API server and credentials for it; certificates and keys are PEM."""

    server: str
    """``https://host:port``, perhaps with a path."""
    ca: str | None = None
    """Who may have signed the server's certificate; None for the authorities of the system."""
    insecure: bool = False
    certificate: str | None = None
    key: str | None = field(default=None, repr=False)
    user: tuple[str, str] | None = field(default=None, repr=False)
    """Name and password."""
    fixed_token: str | None = field(default=None, repr=False)
    token_file: Path | None = None

    def token(self) -> str | None:
        """Return the token as it is now; raises OSError."""
        return self.fixed_token if self.token_file is None else self.token_file.read_text().strip()

    def headers(self) -> dict[str, str]:
        """Return the headers that say who asks; raises OSError."""
        token = self.token()
        if token:
            return {"Authorization": f"Bearer {token}"}
        if self.user is not None:
            return {"Authorization": "Basic " + base64.b64encode(":".join(self.user).encode()).decode()}
        return {}

    def ssl_context(self) -> ssl.SSLContext | None:
        """Return how connections are made; None without TLS."""
        if not self.server.startswith("https:"):
            return None
        context = ssl.create_default_context(cadata=self.ca)
        if self.insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if self.certificate is not None:
            # `ssl` takes certificates from files only. This one is gone at once, and nobody else may read it.
            with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:
                file.write(f"{self.certificate}\n{self.key or ''}")
                file.flush()
                context.load_cert_chain(file.name)
        return context


def find_access(environment: Mapping[str, str] | None = None, account: Path = ACCOUNT) -> Access:
    """Find the API server: inside of a pod by its service account, elsewhere by a kubeconfig; raises AccessError."""
    variables = os.environ if environment is None else environment
    if _HOST in variables and (account / "token").exists():
        host = variables[_HOST]
        host = f"[{host}]" if ":" in host else host
        server = f"https://{host}:{variables.get(_PORT, '443')}"
        return Access(server, ca=(account / "ca.crt").read_text(), token_file=account / "token")
    named = variables.get("KUBECONFIG", "")
    paths = [Path(part) for part in named.split(os.pathsep) if part] or [Path.home() / ".kube" / "config"]
    found = [path for path in paths if path.exists()]
    if not found:
        raise AccessError(f"neither a service account in {account} nor a kubeconfig ({', '.join(map(str, paths))})")
    return _of_kubeconfig(found)


def _of_kubeconfig(paths: list[Path]) -> Access:
    """Read kubeconfigs as kubectl does: of each name the first one counts."""
    current = ""
    entries: dict[str, dict[str, tuple[dict[str, Any], Path]]] = {"contexts": {}, "clusters": {}, "users": {}}
    for path in paths:
        try:
            content = yaml.safe_load(path.read_text()) or {}
            current = current or content.get("current-context") or ""
            for section, known in entries.items():
                for one in content.get(section) or []:
                    known.setdefault(one["name"], (one.get(section[:-1]) or {}, path.parent))
        except (OSError, yaml.YAMLError, AttributeError, KeyError, TypeError) as error:
            raise AccessError(f"kubeconfig {path} cannot be read: {error!r}") from error
    try:
        context, _ = entries["contexts"][current]
        cluster, of_cluster = entries["clusters"][context["cluster"]]
        user, of_user = entries["users"][context["user"]]
        server = str(cluster["server"])
    except KeyError as error:
        names = ", ".join(map(str, paths))
        raise AccessError(f"kubeconfig {names}: context {current!r} is not complete: {error} is missing") from error
    if "exec" in user or "auth-provider" in user:
        raise AccessError(
            f"kubeconfig: user {context['user']} logs in by a program, which is not supported here; write a token "
            "(`kubectl create token`) or use `kubectl proxy`"
        )
    token_file = user.get("tokenFile")
    return Access(
        server.rstrip("/"),
        ca=_pem(cluster, "certificate-authority", of_cluster),
        insecure=bool(cluster.get("insecure-skip-tls-verify")),
        certificate=_pem(user, "client-certificate", of_user),
        key=_pem(user, "client-key", of_user),
        user=(user["username"], user.get("password", "")) if user.get("username") else None,
        fixed_token=user.get("token"),
        token_file=None if token_file is None else of_user / token_file,
    )


def _pem(entry: Mapping[str, Any], name: str, folder: Path) -> str | None:
    """Return what an entry holds itself, or the file that it names: a relative path is one beside the kubeconfig."""
    try:
        if data := entry.get(f"{name}-data"):
            return base64.b64decode(data).decode()
        return (folder / entry[name]).read_text() if entry.get(name) else None
    except (OSError, ValueError) as error:
        raise AccessError(f"kubeconfig: {name} cannot be read: {error}") from error
