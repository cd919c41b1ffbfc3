"""Kubernetes Events about a resource."""

import hashlib
from datetime import datetime
from typing import Final

from logpersister.report.human import instant
from logpersister_operator.cluster.kinds import EVENT, LOGPERSISTER, Document
from logpersister_operator.observed_state import Resource
from logpersister_operator.rollout.rollout_events import Event

REPORTER: Final = "logpersister-operator"
LONGEST_MESSAGE: Final = 1024
"""The API server's limit for the message of an Event."""


def event_document(resource: Resource, event: Event, now: datetime) -> Document:
    """Return the Event to create; its name is made of its content, so that no Event is written twice."""
    time = instant(now)
    identity = f"{resource.uid} {event.reason} {event.message} {time}"
    return {
        "apiVersion": EVENT.api_version,
        "kind": EVENT.name,
        "metadata": {
            "name": f"{resource.key.name}.{hashlib.sha256(identity.encode()).hexdigest()[:16]}",
            "namespace": resource.key.namespace,
        },
        "involvedObject": {
            "apiVersion": LOGPERSISTER.api_version,
            "kind": LOGPERSISTER.name,
            "name": resource.key.name,
            "namespace": resource.key.namespace,
            "uid": resource.uid,
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
