"""A real Kubernetes node on this machine, without a container engine or a registry (docs/design/node.md)."""

from tests.cluster.node.node import Node, NodeError

__all__ = ["Node", "NodeError"]
