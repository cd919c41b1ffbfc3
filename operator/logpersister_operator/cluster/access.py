"""Where the API server is and who asks it: a pod's service account, elsewhere a kubeconfig."""

import os
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import yaml
from kubernetes.client import Configuration
from kubernetes.client.rest import should_bypass_proxies
from kubernetes.config import ConfigException, load_kube_config
from kubernetes.config.incluster_config import SERVICE_HOST_ENV_NAME, InClusterConfigLoader

ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""What the kubelet gives to a pod; it replaces the token before that expires."""


class AccessError(Exception):
    """There are no credentials, or none that can be used."""


class Access:
    """An API server and credentials for it. Thread-safe."""

    def __init__(self, load: Callable[[], Configuration]) -> None:
        """Read the configuration; ``load`` raises AccessError."""
        self._load = load
        self._lock = threading.Lock()
        self.configuration = load()

    def authorization(self) -> str | None:
        """Return the header that says who asks, of a token that is not expired; raises AccessError."""
        try:
            found: str | None = self.configuration.get_api_key_with_prefix("BearerToken")
        except (ConfigException, OSError) as error:
            raise AccessError(f"no token for {self.configuration.host}: {error}") from error
        return found

    def renew(self, refused: Configuration) -> None:
        """Read the configuration again, once after the API server refused one; raises AccessError.

        The package renews tokens that say when they expire. Others change as well: files, and certificates of programs.
        """
        with self._lock:
            if self.configuration is refused:
                self.configuration = self._load()


def find_access(environment: Mapping[str, str] | None = None, account: Path = ACCOUNT) -> Access:
    """Find the API server: inside of a pod by its service account, elsewhere by a kubeconfig; raises AccessError."""
    variables = os.environ if environment is None else environment
    if SERVICE_HOST_ENV_NAME in variables and (account / "token").exists():
        return Access(lambda: _of_pod(variables, account))
    named = variables.get("KUBECONFIG", "")
    paths = [Path(part) for part in named.split(os.pathsep) if part] or [Path.home() / ".kube" / "config"]
    found = [path for path in paths if path.exists()]
    if not found:
        raise AccessError(f"neither a service account in {account} nor a kubeconfig ({', '.join(map(str, paths))})")
    return Access(lambda: _of_kubeconfig(found))


def _of_pod(variables: Mapping[str, str], account: Path) -> Configuration:
    configuration = Configuration()
    loader = InClusterConfigLoader(str(account / "token"), str(account / "ca.crt"), environ=variables)
    try:
        loader.load_and_set(configuration)
    except (ConfigException, OSError) as error:
        raise AccessError(f"service account in {account}: {error}") from error
    configuration.proxy = None  # HTTPS_PROXY is for what is outside of the cluster
    return configuration


def _of_kubeconfig(paths: list[Path]) -> Configuration:
    configuration = Configuration()
    names, context = os.pathsep.join(map(str, paths)), None
    try:
        # kubectl takes the first file that names a context, the package the last one.
        contents = [yaml.safe_load(path.read_text()) or {} for path in paths]
        context = next((found for one in contents if (found := one.get("current-context"))), None)
        load_kube_config(names, context=context, client_configuration=configuration, persist_config=False)
    except (ConfigException, yaml.YAMLError, OSError, ValueError, TypeError, AttributeError, KeyError) as error:
        raise AccessError(f"kubeconfig {names}, context {context!r}: {error}") from error
    if configuration.host.startswith("https:") and not (configuration.api_key or configuration.cert_file):
        raise AccessError(
            f"kubeconfig {names}, context {context!r}: the user has no credentials. When a program (exec) logs in, the "
            "log says what it answered"
        )
    if configuration.proxy and should_bypass_proxies(configuration.host, configuration.no_proxy or ""):
        configuration.proxy = None
    return configuration
