"""What the processes of a Job said when they ended. Pure."""

import json
from collections.abc import Iterable
from typing import Any

from logpersister_operator.observed_objects import Container, Ended, Pod
from logpersister_operator.render.application import MEMBER


def last_words(pods: Iterable[Pod]) -> str:
    """Return why the process that failed last has; empty when none has."""
    failed = [ended for pod in pods for one in pod.containers if (ended := _failure(one)) is not None]
    if not failed:
        return ""
    last = max(failed, key=lambda one: one.finished.timestamp() if one.finished else 0.0)
    reason = f", {last.reason}" if last.reason not in ("", "Error") else ""
    said = _said(last.message)
    return f"exit code {last.exit_code}{reason}" + (f": {said}" if said else "; see its log")


def _failure(container: Container) -> Ended | None:
    ended = container.ended
    return ended if container.name == MEMBER and ended is not None and ended.exit_code else None


def _said(message: str) -> str:
    """Return the error of a command, or what its log says of errors; of a traceback the last line."""
    lines = [" ".join(line.split()) for line in message.splitlines() if line.strip()]
    logged = [entry for line in lines if (entry := _entry(line)) is not None]
    plain = [line for line in lines if _entry(line) is None]
    if plain and plain[-1] == lines[-1]:
        return plain[-1]
    errors = [_of_log(one) for one in logged if one.get("level") == "error"]
    return "; ".join(dict.fromkeys(errors)) or (plain or lines or [""])[-1]


def _entry(line: str) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _of_log(entry: dict[str, Any]) -> str:
    hidden = ("event", "level", "timestamp", "group", "logger")
    facts = entry.get("message") or ", ".join(f"{name} {value}" for name, value in entry.items() if name not in hidden)
    return f"{entry.get('event', 'error')} {facts}".strip()
