"""A smallest manifest, and how tests change it and see what is said about it."""

import copy
from enum import Enum
from typing import Any, Final

import pytest

from logpersister.manifest import LogPersister, ManifestError, Problem, parse
from logpersister.manifest.spec import Spec

DOCUMENT: dict[str, Any] = {
    "apiVersion": "logpersister.dev/v1alpha1",
    "kind": "LogPersister",
    "metadata": {"name": "clicks-backup"},
    "spec": {"kafka": {"bootstrapServers": "broker-1:9092", "topics": ["clicks"]}, "storage": {"bucket": "logs"}},
}


class _Remove(Enum):
    REMOVE = "removed"


REMOVE: Final = _Remove.REMOVE
"""As a value: the field is removed. Its text is the same in every process: tests are named by it."""


def changed(changes: dict[str, Any]) -> dict[str, Any]:
    """Return the document with fields set by path: ``{"spec.kafka.topics": ["a"]}``."""
    document = copy.deepcopy(DOCUMENT)
    for path, value in changes.items():
        *parents, name = path.split(".")
        mapping = document
        for parent in parents:
            mapping = mapping.setdefault(parent, {})
        if value is REMOVE:
            del mapping[name]
        else:
            mapping[name] = copy.deepcopy(value)
    return document


def accepted(changes: dict[str, Any]) -> LogPersister:
    return parse(changed(changes))


def spec_with(**sections: Any) -> Spec:
    """Return the spec of the smallest manifest with these sections."""
    return accepted({f"spec.{name}": section for name, section in sections.items()}).spec


def problems(changes: dict[str, Any]) -> list[str]:
    """Return the lines of the error that the changed document must give."""
    with pytest.raises(ManifestError) as caught:
        parse(changed(changes))
    return str(caught.value).splitlines()


def refused(changes: dict[str, Any]) -> list[Problem]:
    """Return what is wrong with the changed document."""
    with pytest.raises(ManifestError) as caught:
        parse(changed(changes))
    return caught.value.problems


def at(fault: str, *changes: dict[str, Any]) -> list[tuple[dict[str, Any], str]]:
    """Return changes that are refused, each with the same field at fault."""
    return [(one, fault) for one in changes]
