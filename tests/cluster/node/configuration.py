"""Configuration files of containerd, the pods' network, the kubelet and kube-proxy."""

import json
from pathlib import Path
from typing import Any

from tests.cluster.node.images import PAUSE
from tests.cluster.node.place import (
    CGROUP,
    CONTAINERD,
    ETC,
    NODE,
    NODE_ADDRESS,
    PKI,
    POD_RANGE,
    RUN,
    SOCKET,
    STATE,
)

CNI = ETC / "cni"
_DISABLED = ["aufs", "btrfs", "devmapper", "zfs"]


def write() -> None:
    """Write all files."""
    CNI.mkdir(parents=True, exist_ok=True)
    # What a process may not lower below its parent's without a capability that containers rarely have.
    oom_score = int(Path("/proc/self/oom_score_adj").read_text())
    (ETC / "containerd.toml").write_text(_containerd(oom_score))
    (ETC / "resolv.conf").write_text("# no server\n")
    _write(CNI / "10-bridge.conflist", _pod_network())
    _write(ETC / "kubelet.yaml", _kubelet(oom_score))
    _write(ETC / "kube-proxy.yaml", _kube_proxy(oom_score))


def _write(file: Path, document: dict[str, Any]) -> None:
    file.write_text(json.dumps(document, indent=2))  # YAML takes JSON


def _containerd(oom_score: int) -> str:
    disabled = json.dumps([f"io.containerd.snapshotter.v1.{name}" for name in _DISABLED])
    return f"""\
version = 2
root = "{CONTAINERD}"
state = "{RUN / "containerd"}"
oom_score = {oom_score}
disabled_plugins = {disabled}
[grpc]
  address = "{SOCKET}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{PAUSE}"
  restrict_oom_score_adj = true
  disable_apparmor = true
  disable_hugetlb_controller = true
  tolerate_missing_hugetlb_controller = true
[plugins."io.containerd.grpc.v1.cri".containerd]
  snapshotter = "overlayfs"
  default_runtime_name = "runc"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
  SystemdCgroup = false
[plugins."io.containerd.grpc.v1.cri".cni]
  bin_dir = "/usr/lib/cni"
  conf_dir = "{CNI}"
"""


def _pod_network() -> dict[str, Any]:
    bridge = {
        "type": "bridge",
        "bridge": "cni0",
        "isGateway": True,
        "ipMasq": False,
        "hairpinMode": True,  # a pod reaches itself by its Service
        "ipam": {
            "type": "host-local",
            "dataDir": str(STATE / "cni"),
            "ranges": [[{"subnet": POD_RANGE}]],
            "routes": [{"dst": "0.0.0.0/0"}],
        },
    }
    return {
        "cniVersion": "0.4.0",
        "name": "node",
        "plugins": [bridge, {"type": "portmap", "capabilities": {"portMappings": True}}],
    }


def _kubelet(oom_score: int) -> dict[str, Any]:
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": NODE_ADDRESS,
        "readOnlyPort": 0,
        "tlsCertFile": str(PKI / "kubelet-server.crt"),
        "tlsPrivateKeyFile": str(PKI / "kubelet-server.key"),
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": str(PKI / "ca.crt")},
        },
        "authorization": {"mode": "Webhook"},
        "clusterDNS": [NODE_ADDRESS],  # where nobody listens: nothing asks for a name, and who does is refused at once
        "resolvConf": str(ETC / "resolv.conf"),
        "containerRuntimeEndpoint": f"unix://{SOCKET}",
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": CGROUP,
        "failSwapOn": False,
        "oomScoreAdj": oom_score,
        "podLogsDir": str(STATE / "pod-logs"),
        "volumePluginDir": str(STATE / "volume-plugins"),
        # Images are loaded and cannot be pulled again, and the disk is shared: never collect them, never evict early.
        "imageGCHighThresholdPercent": 100,
        "imageGCLowThresholdPercent": 99,
        "evictionHard": {"memory.available": "100Mi", "nodefs.available": "500Mi", "imagefs.available": "500Mi"},
        "nodeStatusUpdateFrequency": "5s",
        "makeIPTablesUtilChains": False,
    }


def _kube_proxy(oom_score: int) -> dict[str, Any]:
    return {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "iptables",
        "clientConnection": {"kubeconfig": str(ETC / "kube-proxy.kubeconfig")},
        "hostnameOverride": NODE,
        "bindAddress": NODE_ADDRESS,
        "clusterCIDR": POD_RANGE,
        "detectLocalMode": "ClusterCIDR",
        "iptables": {"localhostNodePorts": False},
        "conntrack": {"maxPerCore": 0, "min": 0},  # the limit of the machine stays
        "oomScoreAdj": oom_score,
    }
