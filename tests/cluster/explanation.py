"""What tells why something did not come about, short enough for the end of a log."""

import json
from collections.abc import Iterator

from tests.cluster.kubectl import Document, Kubectl, KubectlError

_LINE = 300
_EVENTS = 15
_LOG_LINES = 12
_LOGS_OF = 6
"""Pods whose logs are told."""


def explain(kubectl: Kubectl, selector: str = "") -> str:
    """Return the pods that labels select, their last lines, and what happened in the namespace."""
    try:
        pods = kubectl.list("pods", selector)
        parts = [*map(_pod, pods), *_events(kubectl), *(line for pod in pods[:_LOGS_OF] for line in _log(kubectl, pod))]
    except Exception as error:  # noqa: BLE001 - what it shall explain is worth more
        parts = [repr(error)]
    return "\n".join(part[:_LINE] for part in parts)


def conditions(document: Document) -> str:
    """Return the conditions of an object, one a line."""
    found = (document.get("status") or {}).get("conditions", [])
    lines = (f"{one['type']}={one['status']} {one.get('reason', '')}: {one.get('message', '')}" for one in found)
    return "\n".join(line[:_LINE] for line in lines)


def _pod(pod: Document) -> str:
    status = pod["status"]
    leaving = " on its way out" if "deletionTimestamp" in pod["metadata"] else ""
    states = " ".join(
        f"{one['name']}: {json.dumps(one['state'])} restarts={one['restartCount']}"
        for one in status.get("containerStatuses", [])
    )
    why = " ".join(one["message"] for one in status.get("conditions", []) if one.get("message"))
    return f"pod {pod['metadata']['name']} {status['phase']}{leaving} {states} {why}"


def _events(kubectl: Kubectl) -> Iterator[str]:
    columns = "custom-columns=:.lastTimestamp,:.involvedObject.name,:.reason,:.message"
    told = kubectl("get", "events", "--sort-by=.lastTimestamp", "--no-headers", "--output", columns)
    yield from (f"event {line}" for line in told.splitlines()[-_EVENTS:])


def _log(kubectl: Kubectl, pod: Document) -> Iterator[str]:
    name = pod["metadata"]["name"]
    restarted = any(one["restartCount"] for one in pod["status"].get("containerStatuses", []))
    for options in ((), ("--previous",)) if restarted else ((),):
        yield f"log of {name} {''.join(options)}"
        try:
            yield from kubectl("logs", name, f"--tail={_LOG_LINES}", *options).splitlines()
        except KubectlError as error:
            yield str(error)
