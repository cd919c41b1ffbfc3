"""A real Kubernetes API server on loopback, without nodes or controllers: for CRD, operator and chart.

What is created is validated, stored and watched as anywhere; nothing is ever run, and nothing is collected when its
owner goes, since that is the work of controllers.
"""

from tests.stack.kubernetes.api_server import ApiServer
from tests.stack.kubernetes.client import Client, Refused

__all__ = ["ApiServer", "Client", "Refused"]
