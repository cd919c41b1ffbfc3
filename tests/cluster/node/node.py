"""Brings the node up and down: etcd, the control plane, containerd, the kubelet and kube-proxy."""

import contextlib
import fcntl
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil

from tests.cluster.node import configuration, identities, images, machine, network
from tests.cluster.node.daemons import Daemon
from tests.cluster.node.machine import NodeError, inside, run, succeeds
from tests.cluster.node.place import (
    API_PORT,
    API_SERVICE,
    CGROUP,
    DIRECTORY,
    DOMAIN,
    ETC,
    ETCD,
    ETCD_PEERS,
    KUBECONFIG,
    KUBECTL_CACHE,
    NAMESPACE,
    NODE,
    NODE_ADDRESS,
    PKI,
    POD_RANGE,
    RUN,
    SERVICE_RANGE,
    SOCKET,
    STATE,
)
from tests.stack.artifacts import go_program

__all__ = ["Node", "NodeError"]

_BY_SERVICE = ("get", "--raw=/readyz", f"--server=https://{API_SERVICE}")
_SECONDS = 600
"""Ends a hang, and measures nothing: machines are slow and cold."""
_POLL = 0.1


class Node:
    """The one node of this working copy."""

    def __init__(self) -> None:
        self.etcd = _etcd()
        self.api_server = _api_server()
        self.containerd = Daemon("containerd", ["containerd", "--config", str(ETC / "containerd.toml")])
        self.controller_manager = _controller_manager()
        self.scheduler = _scheduler()
        self.kubelet = _kubelet()
        self.kube_proxy = Daemon("kube-proxy", [_program("kube-proxy"), f"--config={ETC / 'kube-proxy.yaml'}"])
        self._daemons = [
            self.etcd,
            self.api_server,
            self.containerd,
            self.controller_manager,
            self.scheduler,
            self.kubelet,
            self.kube_proxy,
        ]

    @property
    def runs(self) -> bool:
        """Whether all processes are there."""
        return NAMESPACE.exists() and all(daemon.alive for daemon in self._daemons)

    def up(self) -> None:
        """Start the node, unless it runs; raise `NodeError` when it does not get ready.

        It starts from nothing: a cluster of tests has no past.
        """
        machine.prepare()
        with _lock():
            if self.runs:
                return
            self._down()
            identities.write()
            configuration.write()
            network.create()
            _control_groups(create=True)
            for daemon in (self.etcd, self.api_server, self.containerd):
                daemon.start()
            self._wait("containerd answers", images.containerd_serves)
            images.load_own()
            self._wait("the API server is ready", lambda: _kubectl_says("get", "--raw=/readyz"))
            for daemon in (self.controller_manager, self.scheduler, self.kubelet, self.kube_proxy):
                daemon.start()
            self._wait("the node registers", lambda: _kubectl_says("get", "node", NODE))
            self.wait_ready()
            self._wait("its address as a Service leads to the API server", lambda: _kubectl_says(*_BY_SERVICE))

    def down(self, *, purge: bool = False) -> None:
        """Stop everything, pods too; ``purge`` also forgets the images."""
        with _lock():
            self._down()
            if purge:
                shutil.rmtree(DIRECTORY / "containerd", ignore_errors=True)

    def wait_ready(self) -> None:
        """Wait until the node is ready."""
        ready = ("wait", "--for=condition=Ready", f"node/{NODE}", "--timeout=1s")
        self._wait("the node is ready", lambda: _kubectl_says(*ready))

    def _down(self) -> None:
        for daemon in (self.kubelet, self.kube_proxy, self.scheduler, self.controller_manager):
            daemon.stop()
        if self.containerd.alive and images.containerd_serves():
            _remove_containers()
        for daemon in (self.api_server, self.containerd, self.etcd):
            daemon.stop()
        _kill_shims()
        _unmount()
        if shutil.which("ip") is not None:
            network.remove()
        _control_groups(create=False)
        for folder in (STATE, RUN):
            shutil.rmtree(folder, ignore_errors=True)

    def _wait(self, what: str, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + _SECONDS
        while not condition():
            for daemon in self._daemons:
                if (STATE / "run" / f"{daemon.name}.json").exists():
                    daemon.check()
            if time.monotonic() > deadline:
                logs = "\n".join(f"  {daemon.log}:\n{daemon.tail(4)}" for daemon in self._daemons)
                raise NodeError(f"not within {_SECONDS} s: {what}; the ends of the logs:\n{logs}")
            time.sleep(_POLL)


def _kubectl_says(*arguments: str) -> bool:
    options = (f"--kubeconfig={KUBECONFIG}", f"--cache-dir={KUBECTL_CACHE}", "--request-timeout=5s")
    return succeeds(inside([_program("kubectl"), *options, *arguments]))


def _program(name: str) -> str:
    return str(go_program(name))


def _etcd() -> Daemon:
    return Daemon(
        "etcd",
        [
            _program("etcd"),
            f"--data-dir={STATE / 'etcd'}",
            f"--listen-client-urls={ETCD}",
            f"--advertise-client-urls={ETCD}",
            f"--listen-peer-urls={ETCD_PEERS}",
            f"--initial-advertise-peer-urls={ETCD_PEERS}",
            f"--initial-cluster=default={ETCD_PEERS}",
            "--unsafe-no-fsync",  # the node begins anew each time
        ],
    )


def _api_server() -> Daemon:
    return Daemon(
        "kube-apiserver",
        [
            _program("kube-apiserver"),
            f"--advertise-address={NODE_ADDRESS}",
            f"--bind-address={NODE_ADDRESS}",
            f"--secure-port={API_PORT}",
            f"--etcd-servers={ETCD}",
            f"--service-cluster-ip-range={SERVICE_RANGE}",
            "--authorization-mode=Node,RBAC",
            "--enable-admission-plugins=NodeRestriction",
            "--allow-privileged=true",
            f"--client-ca-file={PKI / 'ca.crt'}",
            f"--tls-cert-file={PKI / 'apiserver.crt'}",
            f"--tls-private-key-file={PKI / 'apiserver.key'}",
            f"--service-account-issuer=https://kubernetes.default.svc.{DOMAIN}",
            f"--service-account-key-file={PKI / 'accounts.pub'}",
            f"--service-account-signing-key-file={PKI / 'accounts.key'}",
            f"--kubelet-certificate-authority={PKI / 'ca.crt'}",
            f"--kubelet-client-certificate={PKI / 'apiserver-kubelet.crt'}",
            f"--kubelet-client-key={PKI / 'apiserver-kubelet.key'}",
            "--kubelet-preferred-address-types=InternalIP",
            f"--requestheader-client-ca-file={PKI / 'front-proxy-ca.crt'}",
            "--requestheader-allowed-names=front-proxy-client",
            "--requestheader-extra-headers-prefix=X-Remote-Extra-",
            "--requestheader-group-headers=X-Remote-Group",
            "--requestheader-username-headers=X-Remote-User",
            f"--proxy-client-cert-file={PKI / 'front-proxy.crt'}",
            f"--proxy-client-key-file={PKI / 'front-proxy.key'}",
            "--profiling=false",
        ],
    )


def _controller_manager() -> Daemon:
    return Daemon(
        "kube-controller-manager",
        [
            _program("kube-controller-manager"),
            *_own_access("kube-controller-manager"),
            "--use-service-account-credentials=true",
            f"--root-ca-file={PKI / 'ca.crt'}",
            f"--service-account-private-key-file={PKI / 'accounts.key'}",
            f"--client-ca-file={PKI / 'ca.crt'}",
            f"--cluster-cidr={POD_RANGE}",
        ],
    )


def _scheduler() -> Daemon:
    return Daemon("kube-scheduler", [_program("kube-scheduler"), *_own_access("kube-scheduler")])


def _own_access(part: str) -> list[str]:
    config = ETC / f"{part}.kubeconfig"
    return [
        f"--kubeconfig={config}",
        f"--authentication-kubeconfig={config}",
        f"--authorization-kubeconfig={config}",
        "--bind-address=127.0.0.1",
        "--leader-elect=false",
        "--profiling=false",
    ]


def _kubelet() -> Daemon:
    return Daemon(
        "kubelet",
        [
            _program("kubelet"),
            f"--config={ETC / 'kubelet.yaml'}",
            f"--kubeconfig={ETC / 'kubelet.kubeconfig'}",
            f"--root-dir={STATE / 'kubelet'}",
            f"--cert-dir={STATE / 'kubelet' / 'pki'}",
            f"--hostname-override={NODE}",
            f"--node-ip={NODE_ADDRESS}",
        ],
    )


def _remove_containers() -> None:
    for task in images.ctr("tasks", "ls", "--quiet").split():
        with contextlib.suppress(NodeError):  # it has just ended
            images.ctr("tasks", "rm", "--force", task)
    for container in images.ctr("containers", "ls", "--quiet").split():
        with contextlib.suppress(NodeError):
            images.ctr("containers", "rm", container)


def _kill_shims() -> None:
    """Kill what holds the containers of a containerd that was killed: our socket is in their arguments."""
    for process in psutil.process_iter(["cmdline"]):
        arguments = process.info["cmdline"] or []
        if arguments and "containerd-shim" in arguments[0] and str(SOCKET) in arguments:
            for one in [*process.children(recursive=True), process]:
                with contextlib.suppress(psutil.NoSuchProcess):
                    one.kill()


def _unmount() -> None:
    """Unmount all that is in the node's folders, the newest first: it may cover older ones, even at its own place.

    What is mounted is read again after each: one that goes takes its copies with it, and shims unmount what is theirs.
    """
    while mounts := _mounts():
        try:
            run(["umount", "--lazy", mounts[-1]])
        except NodeError:
            if _mounts() == mounts:  # else it went by itself
                raise


def _mounts() -> list[str]:
    """Return where something is mounted in the node's folders, in the order of mounting."""
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    places = (line.split()[4].replace(r"\040", " ") for line in lines)
    return [place for place in places if place.startswith((f"{STATE}/", f"{RUN}/"))]


def _control_groups(*, create: bool) -> None:
    """Make or remove the control group under which all pods are; on version 1 there is one in each hierarchy."""
    root = Path("/sys/fs/cgroup")
    unified = (root / "cgroup.controllers").exists()
    for hierarchy in [root] if unified else [one for one in root.iterdir() if one.is_dir() and not one.is_symlink()]:
        group = hierarchy / CGROUP.lstrip("/")
        if create:
            group.mkdir(exist_ok=True)
            continue
        folders = [group, *(one for one in group.rglob("*") if one.is_dir())] if group.exists() else []
        for folder in sorted(folders, reverse=True):
            with contextlib.suppress(OSError):  # a process is still ending: the group stays, empty
                folder.rmdir()


@contextlib.contextmanager
def _lock() -> Iterator[None]:
    DIRECTORY.mkdir(parents=True, exist_ok=True)
    with (DIRECTORY / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
