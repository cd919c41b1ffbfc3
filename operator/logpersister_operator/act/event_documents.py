"""Kubernetes Events about a resource."""

import hashlib
from datetime import datetime
from typing import Final

from logpersister.report.human import instant
from logpersister_operator.cluster.kinds import EVENT, Document
from logpersister_operator.plan import Event

REPORTER: Final = "logpersister-operator"
LONGEST_MESSAGE: Final = 1024
"""The API server's limit for the message of an Event."""


def event_document(resource: Document, event: Event, now: datetime) -> Document:
    """Return the Event to create; its name is made of its content, so that no Event is written twice."""
    metadata = resource["metadata"]
    time = instant(now)
    identity = f"{metadata['uid']} {event.reason} {event.message} {time}"
    return {
        "apiVersion": EVENT.api_version,
        "kind": EVENT.name,
        "metadata": {
            "name": f"{metadata['name']}.{hashlib.sha256(identity.encode()).hexdigest()[:16]}",
            "namespace": metadata["namespace"],
        },
        "involvedObject": {
            "apiVersion": resource["apiVersion"],
            "kind": resource["kind"],
            "name": metadata["name"],
            "namespace": metadata["namespace"],
            "uid": metadata["uid"],
        },
        "reason": event.reason,
        "message": event.message[:LONGEST_MESSAGE],
        "type": "Warning" if event.warning else "Normal",
        "source": {"component": REPORTER},
        "reportingComponent": REPORTER,
        "firstTimestamp": time,
        "lastTimestamp": time,
        "count": 1,
    }
