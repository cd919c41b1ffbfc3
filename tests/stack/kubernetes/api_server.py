"""etcd and kube-apiserver as one server."""

import json
import shutil
import ssl
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.stack import artifacts
from tests.stack.authority import Authority, signing_key
from tests.stack.kubernetes.client import Client
from tests.stack.ports import LOOPBACK, LOOPBACK_6, free_port, in_url
from tests.stack.server import START_TIMEOUT, Launched, Server

_ISSUER = "https://kubernetes.default.svc.cluster.local"
_SERVICES = {LOOPBACK: "10.0.0.0/24", LOOPBACK_6: "fd00:10::/112"}
"""Their addresses, by that of the API server: both have one family."""
_HOSTS = ("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc")


class Etcd(Server):
    """One node of etcd."""

    name = "etcd"

    def __init__(self, directory: Path, host: str) -> None:
        super().__init__(directory)
        self._host = in_url(host)
        self._peer_port = free_port()

    @property
    def url(self) -> str:
        return f"http://{self._host}:{self.port}"

    def _command(self) -> Sequence[str]:
        peer = f"http://{self._host}:{self._peer_port}"
        return [
            str(artifacts.go_program("etcd")),
            f"--data-dir={self._data}",
            f"--listen-client-urls={self.url}",
            f"--advertise-client-urls={self.url}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
            "--unsafe-no-fsync",  # what a test stores need not survive the machine
        ]

    def back_up(self, to: Path) -> None:
        """Copy what is stored while it stands still, as a snapshot of its disk would be."""
        self.suspend()
        shutil.copytree(self._data, to)
        self.resume()

    def restore(self, backup: Path) -> None:
        """Put a backup in the place of what is stored; it must not run."""
        shutil.rmtree(self._data)
        shutil.copytree(backup, self._data)

    @property
    def _data(self) -> Path:
        return self.directory / "data"

    def _serves(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/health", timeout=1) as response:
                return bool(json.load(response)["health"] == "true")
        except (OSError, ValueError):
            return False


class KubeApiServer(Server):
    """kube-apiserver on an etcd that serves, or will in a moment."""

    name = "kube-apiserver"

    def __init__(self, directory: Path, etcd: Etcd, host: str, flags: Sequence[str]) -> None:
        super().__init__(directory)
        self._etcd = etcd
        self._host = host
        self._flags = list(flags)
        self._pki = directory / "pki"
        self.kubeconfig = directory / "kubeconfig"
        """With it a client may do everything."""

    @property
    def url(self) -> str:
        return f"https://{in_url(self._host)}:{self.port}"

    def context(self) -> ssl.SSLContext:
        """Return what a client of `kubeconfig` connects with."""
        context = ssl.create_default_context(cafile=self._pki / "ca.crt")
        context.load_cert_chain(self._pki / "admin.crt", self._pki / "admin.key")
        return context

    def _command(self) -> Sequence[str]:
        if not self.kubeconfig.exists():
            self._write_identities()
        pki = self._pki
        return [
            str(artifacts.go_program("kube-apiserver")),
            f"--bind-address={self._host}",
            f"--secure-port={self.port}",
            f"--etcd-servers={self._etcd.url}",
            "--endpoint-reconciler-type=none",  # its own Service may not have an address of loopback
            f"--service-cluster-ip-range={_SERVICES[self._host]}",
            "--authorization-mode=Node,RBAC",
            "--enable-admission-plugins=NodeRestriction",
            f"--client-ca-file={pki / 'ca.crt'}",
            f"--tls-cert-file={pki / 'server.crt'}",
            f"--tls-private-key-file={pki / 'server.key'}",
            f"--service-account-issuer={_ISSUER}",
            f"--service-account-key-file={pki / 'accounts.pub'}",
            f"--service-account-signing-key-file={pki / 'accounts.key'}",
            "--profiling=false",
            *self._flags,
        ]

    def _write_identities(self) -> None:
        self._pki.mkdir(parents=True)
        authority = Authority("LogPersister test cluster")
        files: dict[str, bytes] = {"ca.crt": authority.certificate}
        files["server.key"], files["server.crt"] = authority.server("kube-apiserver", (*_HOSTS, self._host))
        files["admin.key"], files["admin.crt"] = authority.client("admin", "system:masters")
        files["accounts.key"], files["accounts.pub"] = signing_key()
        for name, content in files.items():
            file = self._pki / name
            file.touch(mode=0o600)
            file.write_bytes(content)
        cluster = {"server": self.url, "certificate-authority": str(self._pki / "ca.crt")}
        user = {"client-certificate": str(self._pki / "admin.crt"), "client-key": str(self._pki / "admin.key")}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "test", "cluster": cluster}],
            "users": [{"name": "admin", "user": user}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "admin"}}],
            "current-context": "test",
        }
        self.kubeconfig.touch(mode=0o600)
        self.kubeconfig.write_text(json.dumps(config))  # last: its presence says that all are there

    def _environment(self) -> Mapping[str, str]:
        return {"GOGC": "300"}  # a third less CPU, for 200 MB

    def _serves(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/readyz", timeout=2, context=self.context()) as response:
                return bool(response.status == 200)
        except (urllib.error.URLError, OSError):
            return False


class ApiServer(Launched):
    """Both in ``directory``; restarts keep ports, certificates and objects.

    ``flags`` are added to those of kube-apiserver. ``host`` is `LOOPBACK` or `LOOPBACK_6`.
    """

    def __init__(self, directory: Path, *, host: str = LOOPBACK, flags: Sequence[str] = ()) -> None:
        self.host = host
        self.etcd = Etcd(directory / "etcd", host)
        self.kube_apiserver = KubeApiServer(directory / "kube-apiserver", self.etcd, host, flags)

    @property
    def kubeconfig(self) -> Path:
        """With it a client may do everything."""
        return self.kube_apiserver.kubeconfig

    @property
    def url(self) -> str:
        return self.kube_apiserver.url

    def client(self) -> Client:
        """Return a client that may do everything; the caller closes it."""
        return Client(self.host, self.kube_apiserver.port, self.kube_apiserver.context())

    def start(self, timeout: float = START_TIMEOUT) -> Path:
        """Start both, wait until they serve, return `kubeconfig`."""
        self.launch()
        self.wait(timeout)
        return self.kubeconfig

    def launch(self) -> None:
        """Start both without waiting; what is started dies with this process."""
        self.etcd.launch()
        self.kube_apiserver.launch()  # waits for etcd by itself

    def wait(self, timeout: float = START_TIMEOUT) -> None:
        """Wait until both serve; raise `ServerError` when they do not."""
        self.etcd.wait(timeout)
        self.kube_apiserver.wait(timeout)

    def stop(self) -> None:
        """End both in an orderly way."""
        self.kube_apiserver.stop()
        self.etcd.stop()

    def kill(self) -> None:
        """Kill -9 both."""
        self.kube_apiserver.kill()
        self.etcd.kill()

    def restart(self) -> None:
        """Start again on the same ports and data."""
        self.stop()
        self.start()
