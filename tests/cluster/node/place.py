"""Names, addresses and folders of the node."""

import hashlib
from pathlib import Path
from typing import Final

from tests.stack.artifacts import CACHE, ROOT

NAME: Final = f"lpnode-{hashlib.sha256(str(ROOT).encode()).hexdigest()[:6]}"
"""Of the network namespace, and of all that several working copies on one machine must not share."""
NODE: Final = "node1"

NODE_ADDRESS: Final = "10.95.0.1"
"""On a bridge without ports: of the API server, of the kubelet, and of servers on this machine that pods use."""
API_PORT: Final = 6443
POD_RANGE: Final = "10.244.0.0/24"
SERVICE_RANGE: Final = "10.96.0.0/16"
API_SERVICE: Final = "10.96.0.1"
DOMAIN: Final = "cluster.local"
ETCD: Final = "http://127.0.0.1:2379"
ETCD_PEERS: Final = "http://127.0.0.1:2380"

DIRECTORY: Final = CACHE / "node"
LOGS: Final = DIRECTORY / "logs"
STATE: Final = DIRECTORY / "state"
"""What the node knows and is made of. It is begun anew each time."""
PKI: Final = STATE / "pki"
ETC: Final = STATE / "etc"
KUBECONFIG: Final = STATE / "kubeconfig"
"""With it a client may do everything."""
KUBECTL_CACHE: Final = STATE / "kubectl"
"""What kubectl remembers of the API server; by default that is in ~/.kube."""
CONTAINERD: Final = DIRECTORY / "containerd"
"""Images, unpacked; they are kept."""
RUN: Final = Path("/run") / NAME
"""Sockets, whose paths have to be short."""
SOCKET: Final = RUN / "containerd.sock"
NAMESPACE: Final = Path("/run/netns") / NAME
CGROUP: Final = f"/{NAME}"
