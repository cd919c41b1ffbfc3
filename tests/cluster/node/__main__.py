"""``python -m tests.cluster.node up|down``: the node of ``make cluster-up``."""

import argparse
import sys

from tests.cluster.node.node import Node, NodeError
from tests.cluster.node.place import KUBECONFIG, LOGS, NAMESPACE, NODE_ADDRESS
from tests.stack.artifacts import MissingArtifactError, go_program


def main() -> int:
    """Return 0, or 1 with a message when the node does not get ready."""
    parser = argparse.ArgumentParser(prog="python -m tests.cluster.node", description="A Kubernetes node of tests")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("up", help="start it, unless it runs")
    down = commands.add_parser("down", help="stop it, with its pods")
    down.add_argument("--purge", action="store_true", help="forget its images, too")
    arguments = parser.parse_args()
    try:
        node = Node()
        if arguments.command == "down":
            node.down(purge=arguments.purge)
            print("The node is down.")
            return 0
        print("Starting the node ...", flush=True)
        node.up()
    except (NodeError, MissingArtifactError) as error:
        print(error, file=sys.stderr)
        return 1
    print(
        f"""The node runs in a network of its own, in which this machine is {NODE_ADDRESS}. Use it there:
  nsenter --net={NAMESPACE} env KUBECONFIG={KUBECONFIG} {go_program("kubectl")} get pods --all-namespaces
Logs are in {LOGS}. Stop it with `make cluster-down`."""
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
