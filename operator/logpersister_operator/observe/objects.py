"""Turns objects as the API server gives them into what is kept of them. Pure.

A field may be missing or null wherever the API allows that. Equal names are one string, since thousands are kept.
"""

import sys
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final

from logpersister_operator.cluster.kinds import CONFIG_MAP, POD, STATEFUL_SET, Document
from logpersister_operator.observed_objects import (
    Child,
    ConfigMap,
    Container,
    Ended,
    Owner,
    Pod,
    PodCondition,
    StatefulSet,
)

_LONGEST: Final = 100
"""Characters of a text that may be one of many equal ones."""
_Fields = Mapping[str, Any]


def view(child: Document) -> Child:
    """Return what is kept of a child."""
    common, spec, status = _common(child), child.get("spec") or {}, child.get("status") or {}
    match child["kind"]:
        case POD.name:
            return _pod(common, spec, status)
        case STATEFUL_SET.name:
            return _stateful_set(common, spec, status)
        case CONFIG_MAP.name:
            return ConfigMap(**common, data=_texts(child.get("data")))
        case _:
            return Child(**common)


def _common(child: Document) -> dict[str, Any]:
    metadata: _Fields = child["metadata"]
    return {
        "kind": _text(child["kind"]),
        "namespace": _text(metadata.get("namespace")),
        "name": _text(metadata["name"]),
        "uid": _text(metadata.get("uid")),
        "version": int(metadata.get("resourceVersion") or 0),
        "generation": int(metadata.get("generation") or 0),
        "created": _time(metadata.get("creationTimestamp")),
        "deadline": _time(metadata.get("deletionTimestamp")),
        "labels": _texts(metadata.get("labels")),
        "annotations": _texts(metadata.get("annotations")),
        "owners": tuple(_owner(one) for one in metadata.get("ownerReferences") or ()),
    }


def _owner(one: _Fields) -> Owner:
    return Owner(
        _text(one.get("kind")),
        _text(one.get("name")),
        _text(one.get("uid")),
        is_controller=bool(one.get("controller")),
        blocks_deletion=bool(one.get("blockOwnerDeletion")),
    )


def _stateful_set(common: dict[str, Any], spec: _Fields, status: _Fields) -> StatefulSet:
    template = (spec.get("template") or {}).get("metadata") or {}
    replicas = spec.get("replicas")
    return StatefulSet(
        **common,
        replicas=1 if replicas is None else int(replicas),  # the API's default
        template_annotations=_texts(template.get("annotations")),
        observed_generation=int(status.get("observedGeneration") or 0),
        ready_replicas=int(status.get("readyReplicas") or 0),
        updated_replicas=int(status.get("updatedReplicas") or 0),
        current_revision=_text(status.get("currentRevision")),
        update_revision=_text(status.get("updateRevision")),
    )


def _pod(common: dict[str, Any], spec: _Fields, status: _Fields) -> Pod:
    return Pod(
        **common,
        node=_text(spec.get("nodeName")),
        address=_text(status.get("podIP")),
        conditions={_text(one["type"]): _condition(one) for one in status.get("conditions") or ()},
        init_containers=_containers(status.get("initContainerStatuses")),
        containers=_containers(status.get("containerStatuses")),
    )


def _condition(one: _Fields) -> PodCondition:
    return PodCondition(
        one.get("status") == "True",
        _time(one.get("lastTransitionTime")),
        _text(one.get("reason")),
        _text(one.get("message")),
    )


def _containers(statuses: Iterable[_Fields] | None) -> tuple[Container, ...]:
    return tuple(_container(one) for one in statuses or ())


def _container(one: _Fields) -> Container:
    state, before = one.get("state") or {}, one.get("lastState") or {}
    waiting = state.get("waiting") or {}
    return Container(
        _text(one.get("name")),
        _text(one.get("image")),
        int(one.get("restartCount") or 0),
        _text(waiting.get("reason")),
        _text(waiting.get("message")),
        _ended(state.get("terminated")),
        _ended(before.get("terminated")),
    )


def _ended(terminated: _Fields | None) -> Ended | None:
    if not terminated:
        return None
    return Ended(
        terminated.get("exitCode"),
        _text(terminated.get("reason")),
        _text(terminated.get("message")),
        _time(terminated.get("startedAt")),
        _time(terminated.get("finishedAt")),
    )


def _time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def _texts(found: Mapping[str, str] | None) -> dict[str, str]:
    return {_text(name): _text(value) for name, value in (found or {}).items()}


def _text(text: str | None) -> str:
    """Return a text, the same string as others have if it is short; empty for null."""
    return sys.intern(text) if text and len(text) <= _LONGEST else text or ""
