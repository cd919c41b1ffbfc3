"""How an operator is set up: by environment variables, which the chart writes."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Final, Self

from logpersister_operator.member_defaults import NO_DEFAULTS, DefaultsError, MemberDefaults, parse_defaults

PREFIX = "LOGPERSISTER_OPERATOR_"
MIN_LEASE_SECONDS: Final = 3.0


class SettingsError(Exception):
    """A variable that is missing or cannot be used."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Each is the environment variable ``LOGPERSISTER_OPERATOR_<NAME>``."""

    image: str
    """Image of members and executors. Every change of it is a new revision of every resource."""

    member_defaults: MemberDefaults = NO_DEFAULTS
    """What all pods of members and executors get, as JSON. Every change of it is a new revision of every resource."""

    max_concurrent_rollouts: int = 5
    """Resources that roll out at once when the image or the defaults for members change; 0 for any number. A bad image
    gets as far as these; with fewer, a change takes longer to reach all: eight minutes for each of so many."""

    canary_namespaces: tuple[str, ...] = ()
    """Namespaces, perhaps with ``*``, whose resources roll out before all others."""

    canary_namespace_selector: str = ""
    """Label selector of more such namespaces. It needs the right to list namespaces."""

    namespaces: tuple[str, ...] = ()
    """Namespaces to look after, separated by commas; all of them when empty. Fewer need smaller rights."""

    namespace_selector: str = ""
    """Label selector of the namespaces to look after, in place of their names. It needs the right to list namespaces,
    and the rights on resources in all of them."""

    resource_selector: str = ""
    """Label selector of the resources to look after, as ``team=web`` or ``shard in (a, b)``; all of them when empty.
    Others are another operator's: two whose selectors overlap would undo each other's work."""

    executors: bool = True
    """Whether members may have executors as pods. Otherwise the operator needs no rights on roles and bindings, and
    neither makes nor watches them."""

    lag_seconds: float = 30.0
    """Pause between two questions to Kafka about one group. Shorter shows lag sooner and costs the brokers more."""

    report_seconds: float = 15.0
    """Pause between two questions to a member. Shorter shows failures sooner."""

    secret_seconds: float = 60.0
    """How old what is known of Secrets may get: the longest time until a changed one restarts members. Shorter means
    a request more for each Secret and reconciliation."""

    threads: int = 16
    """Reconciliations at once. One that waits for the API server holds one thread."""

    health_port: int = 8080
    """Port of ``/healthz`` and ``/readyz``."""

    metrics_port: int = 9090
    """Port of ``/metrics``."""

    lease: str = ""
    """``namespace/name`` of the Lease that whoever acts has taken. It must be set: nothing else keeps two
    from acting."""

    lease_seconds: float = 15.0
    """How long others wait when the one that acts is silent; it gives up after two thirds of that. Longer bears an API
    server that is away for longer, and takes over later."""

    log_format: str = "json"
    """``json``, ``logfmt`` or ``console``."""

    log_level: str = "info"
    """``debug``, ``info``, ``warning`` or ``error``."""

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Self:
        """Read the variables; raises SettingsError."""
        found = os.environ if environment is None else environment
        values: dict[str, object] = {}
        for setting in fields(cls):
            name = PREFIX + setting.name.upper()
            if name in found:
                values[setting.name] = _value(name, found[name], setting.type)
        if not values.get("image"):
            raise SettingsError(f"{PREFIX}IMAGE is not set; set it to the image of members and executors")
        if not all(str(values.get("lease", "")).partition("/")):
            raise SettingsError(
                f"{PREFIX}LEASE: {values.get('lease', '')!r} names no Lease; write its namespace and name, for example "
                "logpersister-system/logpersister-operator"
            )
        if int(values.get("max_concurrent_rollouts", 0)) < 0:  # type: ignore[call-overload]
            raise SettingsError(
                f"{PREFIX}MAX_CONCURRENT_ROLLOUTS: {values['max_concurrent_rollouts']} is negative; "
                "write how many resources may roll out at once, or 0 for any number"
            )
        if values.get("namespaces") and values.get("namespace_selector"):
            raise SettingsError(
                f"{PREFIX}NAMESPACE_SELECTOR: {values['namespace_selector']!r} is set, and so is {PREFIX}NAMESPACES; "
                "set one of them"
            )
        if "lease_seconds" in values and not values["lease_seconds"] >= MIN_LEASE_SECONDS:  # type: ignore[operator]
            raise SettingsError(
                f"{PREFIX}LEASE_SECONDS: {values['lease_seconds']} is shorter than requests may take; "
                f"write at least {MIN_LEASE_SECONDS:.0f}"
            )
        return cls(**values)  # type: ignore[arg-type]


def _value(name: str, text: str, kind: object) -> object:
    try:
        if kind is float:
            return float(text)
        if kind is int:
            return int(text)
    except ValueError:
        raise SettingsError(f"{name}: {text!r} is not a number; write for example 30") from None
    if kind is bool:
        if text not in ("true", "false"):
            raise SettingsError(f"{name}: {text!r} is neither true nor false; write one of them")
        return text == "true"
    if kind is str:
        return text
    if kind is MemberDefaults:
        try:
            return parse_defaults(text)
        except DefaultsError as error:
            raise SettingsError(f"{name}: {error}") from None
    return tuple(part.strip() for part in text.split(",") if part.strip())
