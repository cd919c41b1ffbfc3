"""The node's network: a namespace of its own, from which nothing can leave the machine.

The firewall and the routes of the machine stay as they are, and all that kube-proxy and the pods' network make is gone
with the namespace.
"""

from tests.cluster.node.machine import inside, run, succeeds
from tests.cluster.node.place import NAME, NAMESPACE, NODE_ADDRESS, POD_RANGE, SERVICE_RANGE

_BRIDGE = "k8s0"


def create() -> None:
    """Make the namespace unless it is there."""
    if not NAMESPACE.exists():
        run(["ip", "netns", "add", NAME])
    for command in (
        ["sysctl", "--quiet", "--write", "net.ipv4.ip_forward=1"],
        ["ip", "link", "set", "lo", "up"],
    ):
        run(inside(command))
    if not succeeds(inside(["ip", "link", "show", _BRIDGE])):
        run(inside(["ip", "link", "add", _BRIDGE, "type", "bridge"]))
    for command in (
        ["ip", "address", "replace", f"{NODE_ADDRESS}/32", "dev", _BRIDGE],
        ["ip", "link", "set", _BRIDGE, "up"],
        # kube-proxy turns connections to a Service to its pods on their way; they need a way to begin with.
        ["ip", "route", "replace", SERVICE_RANGE, "dev", _BRIDGE],
        ["ip", "route", "replace", "unreachable", POD_RANGE, "metric", "4096"],  # until the pods' bridge is there
    ):
        run(inside(command))
    # Services between pods of one bridge need it. Older kernels have one setting for all namespaces.
    run(inside(["sysctl", "--quiet", "--write", "net.bridge.bridge-nf-call-iptables=1"]))


def remove() -> None:
    """Forget the namespace; it ends with its last process."""
    if NAMESPACE.exists():
        run(["ip", "netns", "delete", NAME])
    for line in run(["ip", "netns", "list"]).splitlines():
        name = line.split()[0]
        if name.startswith("cni-") and _of_a_pod_of_ours(name):
            run(["ip", "netns", "delete", name])


def _of_a_pod_of_ours(name: str) -> bool:
    """Whether a pod's namespace has an address of our range, and no process any more."""
    pids = run(["ip", "netns", "pids", name]).split()
    return not pids and f" {POD_RANGE.rsplit('.', 1)[0]}." in run(["ip", "-netns", name, "-4", "address", "show"])
