"""Turns a LogPersister as the API server gives it into what is kept of it; names a resource of any kind. Pure."""

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from ipaddress import ip_address
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from logpersister.forms.problems import RefusedError
from logpersister.manifest import LogPersister, ManifestError
from logpersister.manifest.blocks.kafka import Address, parse_addresses
from logpersister.manifest.load import parse_as
from logpersister_operator.crd.status import MOST_CONDITIONS, Condition, Status
from logpersister_operator.crd.status_rollout import record_of
from logpersister_operator.observed_state import Claim, Resource, ResourceKey

_Fields = Mapping[str, Any]
AnyModel = TypeVar("AnyModel", bound=BaseModel)


def resource_of(document: _Fields) -> Resource:
    """Return what is kept of a resource: its spec as a manifest, and its status as far as it is understood."""
    metadata, status = document["metadata"], document.get("status") or {}
    manifest, problems = parsed_as(LogPersister, document)
    return Resource(
        key=key_of(document),
        uid=metadata["uid"],
        generation=int(metadata["generation"]),
        is_being_deleted="deletionTimestamp" in metadata,
        annotations=metadata.get("annotations") or {},
        manifest=manifest,
        problems=problems,
        claim=claim_of(document),
        status=understood(Status, status),
        record=record_of(status),
        stable=(status.get("rollout") or {}).get("stable"),
    )


def key_of(document: _Fields) -> ResourceKey:
    """Return the key of a resource of any kind."""
    metadata = document["metadata"]
    return ResourceKey(metadata["namespace"], metadata["name"], document["kind"])


def parsed_as(kind: type[AnyModel], document: _Fields) -> tuple[AnyModel | None, str]:
    """Return what a user says of a resource as a manifest, or what is wrong with it: also what no CRD can check."""
    declared = {name: document[name] for name in ("apiVersion", "kind", "metadata", "spec") if name in document}
    try:
        return parse_as(kind, declared), ""
    except ManifestError as error:
        return None, "; ".join(str(problem) for problem in error.problems)


def claim_of(document: _Fields) -> Claim | None:
    """Return what group a resource wants, whatever else is wrong with its spec; None when it does not say where."""
    metadata, kafka = document["metadata"], (document.get("spec") or {}).get("kafka") or {}
    try:
        addresses = parse_addresses(str(kafka.get("bootstrapServers", "")))
    except RefusedError:
        return None
    status = document.get("status") or {}
    rollout = status.get("rollout") or {}
    revisions = (status.get("revision"), rollout.get("stable"), rollout.get("candidate"))
    running = ((status.get("members") or {}).get("desired") or 0) > 0
    return Claim(
        key_of(document),
        metadata["uid"],
        metadata.get("creationTimestamp", ""),
        kafka.get("groupId") or metadata["name"],
        frozenset(_spelt_out(address, metadata["namespace"]) for address in addresses),
        running=running,
        has_run=running or rollout.get("stable") is not None,
        revisions=frozenset(one for one in revisions if one is not None),
    )


def _spelt_out(address: Address, namespace: str) -> str:
    """Return an address as it is spelt in any namespace: the name of a Service alone is one of the own namespace."""
    try:
        host = ip_address(address.host).compressed
    except ValueError:
        host = address.host.lower().rstrip(".")
        host = host.removesuffix(".cluster.local").removesuffix(".svc") if "." in host else f"{host}.{namespace}"
    return str(Address(host, address.port))


def understood(model: type[AnyModel], status: _Fields) -> AnyModel:
    """Return a status without the parts that another version wrote differently, or somebody changed by hand.

    Of a part with fields that only a newer version knows the others are kept: what was counted stays counted.
    """
    try:
        return model.model_validate(status, extra="ignore")
    except ValidationError as error:
        strange = {one["loc"][0] for one in error.errors()}
    found = {name: part for name, part in status.items() if name not in strange}
    if "conditions" in strange:
        found["conditions"] = conditions_of(status)
    return model.model_validate(found, extra="ignore")


def conditions_of(status: _Fields) -> tuple[Condition, ...]:
    """Return the conditions of a status of any kind, as far as they are understood."""
    return tuple(_conditions(status.get("conditions") or []))[:MOST_CONDITIONS]


def _conditions(found: Iterable[_Fields]) -> Iterator[Condition]:
    for one in found:
        with contextlib.suppress(ValidationError):
            yield Condition.model_validate(one, extra="ignore")
