"""``spec.kafka``: which brokers, which topics, from where, and how to log in."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from logpersister.manifest.constraint import Duration, Flag, Model, Regex, SecretName, Text
from logpersister.manifest.problems import Finding, refuse, refuse_all

Protocol = Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]
Mechanism = Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"]

INTERNAL_PREFIX = "__"
"""Topics that Kafka and its tools keep for themselves begin so; a pattern never matches them."""

INTERNAL_TOPICS = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state", "__cluster_metadata"})
"""Kafka's own topics: their records are binary state of the broker; never persisted, even when named."""

_TIME = re.compile(r"\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d{1,6})?([Zz]|[+-]\d{2}:\d{2})", re.ASCII)
_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,251}[A-Za-z0-9.])?|\[[0-9A-Fa-f:.]+(%[A-Za-z0-9]+)?\]")


@dataclass(frozen=True, slots=True)
class Address:
    """Host and port of a broker."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_addresses(text: str) -> tuple[Address, ...]:
    """Return the addresses of ``host:port,host:port``; raise `RefusedError` naming the first that is none."""
    addresses = tuple(_address(entry.strip()) for entry in text.split(","))
    if len(set(addresses)) != len(addresses):
        raise refuse("names a broker twice", "remove the repetition")
    return addresses


def _address(entry: str) -> Address:
    if "://" in entry:
        raise refuse("has a scheme", "write host:port only; the protocol is set in spec.kafka.security.protocol")
    if "@" in entry:
        raise refuse("has credentials in it", "put them in the Secret that spec.kafka.security.secretName names")
    host, separator, port = entry.rpartition(":")
    if not separator or _HOST.fullmatch(host) is None or not re.fullmatch("[0-9]{1,5}", port):
        raise refuse(
            f"has an entry that is not an address ({entry[:80]!r})",
            "write host:port,host:port, for example broker-1:9092",
        )
    if not 1 <= int(port) <= 65535:
        raise refuse(f"has a port outside 1..65535 ({port})", "write the port of the broker's listener, often 9092")
    return Address(host.strip("[]"), int(port))


def parse_time(text: str) -> datetime:
    """Return the instant of an RFC 3339 text, in UTC; raise `RefusedError` for anything else."""
    remedy = "write earliest, latest, or a time with its offset such as 2026-11-21T00:00:00Z"
    if _TIME.fullmatch(text) is None:
        raise refuse("is neither earliest, latest nor an RFC 3339 time", remedy)
    try:
        time = datetime.fromisoformat(text.upper()).astimezone(UTC)
    except (ValueError, OverflowError):
        raise refuse("is a time that does not exist", remedy) from None
    if time < datetime(1970, 1, 1, tzinfo=UTC):
        raise refuse("is before 1970", "Kafka's timestamps begin there; write earliest")
    return time


def _check_start(text: str) -> None:
    if text not in ("earliest", "latest"):
        parse_time(text)


def _check_addresses(text: str) -> None:
    parse_addresses(text)


def _check_topic(name: str) -> None:
    if name in (".", ".."):
        raise refuse("is not a name that Kafka allows for a topic", "write the name as `kafka-topics --list` prints it")
    if name in INTERNAL_TOPICS:
        raise refuse("is an internal topic of Kafka", "remove it: its records are state of the broker, not data")


BootstrapServers = Annotated[
    str,
    Text(r"^\S(.*\S)?$", "is empty", "write host:port,host:port, for example broker-1:9092", 4000, _check_addresses),
]
GroupId = Annotated[
    str,
    Text(
        r"^[A-Za-z0-9_-][A-Za-z0-9._-]*$",
        "is not a group id that can also name a folder",
        "use letters, digits, `.`, `_` and `-`, not beginning with a dot",
        200,
    ),
]
TopicName = Annotated[
    str,
    Text(
        r"^[A-Za-z0-9._-]+$",
        "is not a name that Kafka allows for a topic",
        "write the name as `kafka-topics --list` prints it; for a pattern use topicPattern",
        249,
        _check_topic,
    ),
]
StartFrom = Annotated[
    str,
    Text(
        r"^(earliest|latest|[0-9]{4}-.*)$",
        "is neither earliest, latest nor an RFC 3339 time",
        "write earliest, latest, or a time with its offset such as 2026-11-21T00:00:00Z",
        40,
        _check_start,
    ),
]
Rack = Annotated[
    str, Text(r"^[!-~]+$", "is not a rack", "write the broker.rack of this member's zone, such as eu-west-1a", 249)
]


class SecuritySpec(Model):
    """How to connect and log in. The secrets themselves are in the Secret that ``secretName`` names."""

    protocol: Protocol = "PLAINTEXT"
    """Protocol of the broker's listener. Set it to what the listener speaks: with TLS (`SSL`), with a login
    (`SASL_PLAINTEXT`, only for networks that nobody can listen to), or with both (`SASL_SSL`)."""

    mechanism: Mechanism | None = None
    """How to log in; needed with SASL and only there. `SCRAM-SHA-512` where you can choose; `OAUTHBEARER` when an
    identity provider issues tokens."""

    secret_name: SecretName | None = None
    """Secret with the keys `username` and `password` (PLAIN, SCRAM), `token`, or `token-url`, `client-id`,
    `client-secret` and perhaps `scope` (OAUTHBEARER), `ca.crt` (PEM of the authority that signed the brokers'
    certificates, when it is not a public one), `tls.crt` and `tls.key` (PEM, when brokers ask for a client
    certificate). Needed with SASL."""

    verify_hostname: Flag = True
    """Whether the broker's certificate must name the host that we connect to. Set it to false only while brokers
    have certificates without their names: whoever has any certificate of the same authority can then pose as one."""

    @property
    def uses_tls(self) -> bool:
        return self.protocol in ("SSL", "SASL_SSL")

    @property
    def uses_sasl(self) -> bool:
        return self.protocol in ("SASL_PLAINTEXT", "SASL_SSL")

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        refuse_all(list(self._contradictions()))
        return self

    def _contradictions(self) -> Iterator[Finding]:
        if self.uses_sasl and self.mechanism is None:
            yield Finding(
                f"is missing: protocol {self.protocol} needs a way to log in",
                "set it, for example to SCRAM-SHA-512",
                ("mechanism",),
            )
        if self.uses_sasl and self.secret_name is None:
            yield Finding(
                f"is missing: protocol {self.protocol} needs credentials",
                "name the Secret that holds them",
                ("secretName",),
            )
        if not self.uses_sasl and self.mechanism is not None:
            yield Finding(
                f"contradicts protocol {self.protocol}, which has no login",
                "set protocol to SASL_SSL or SASL_PLAINTEXT, or remove mechanism",
                ("mechanism",),
                f'"{self.mechanism}"',
            )
        if self.protocol == "PLAINTEXT" and self.secret_name is not None:
            yield Finding(
                "contradicts protocol PLAINTEXT, which uses no secret",
                "set protocol to what the listener speaks, or remove secretName",
                ("secretName",),
            )
        if not self.uses_tls and not self.verify_hostname:
            yield Finding(
                f"contradicts protocol {self.protocol}, which has no certificates",
                "set protocol to SSL or SASL_SSL, or remove verifyHostname",
                ("verifyHostname",),
                "false",
            )


class KafkaSpec(Model):
    """Where records come from."""

    bootstrap_servers: BootstrapServers
    """Brokers to ask first, as `host:port,host:port`; the others are learned from them. Name two or three, so that
    a member can start while one is down."""

    group_id: GroupId | None = None
    """Consumer group whose committed offsets are the progress. Default: `metadata.name`. Set it to go on with a group
    of another name; two resources must never share one on the same topics."""

    topics: Annotated[tuple[TopicName, ...], Field(min_length=1, max_length=1000)] | None = None
    """Topics by name. Exactly one of `topics` and `topicPattern` is needed."""

    topic_pattern: Regex | None = None
    """Topics by regular expression (Python syntax), found anywhere in the name unless anchored: `^web` begins with
    web, `^web$` is only web. New topics that match join by themselves. Topics beginning with `__` never match."""

    exclude_topic_pattern: Regex | None = None
    """Topics that `topicPattern` matches and that are not wanted; found anywhere in the name unless anchored."""

    start_from: StartFrom = "earliest"
    """Where a partition without a committed offset begins: `earliest`, `latest`, or an RFC 3339 time (the first record
    at or after it). Partitions that come later, of new topics too, begin here as well; with `latest` what was produced
    before a member saw them is not stored."""

    isolation_level: Literal["read_committed", "read_uncommitted"] = "read_committed"
    """Whether records of aborted transactions are left out. `read_uncommitted` stores them too, and does not wait
    for open transactions: for topics whose hanging transactions hold back the age of files."""

    on_data_loss: Literal["fail", "skip"] = "fail"
    """What to do when Kafka has deleted records before they were stored (retention too short, or a long stop).
    `fail` holds the partition and reports the missing range; `skip` records the loss and goes on behind it."""

    client_rack: Rack | None = None
    """Rack (availability zone) of the members, to fetch from the closest replica. Set it where traffic between
    zones costs, and brokers have a `replica.selector.class`."""

    session_timeout: Annotated[timedelta, Duration("6s", "30m")] = timedelta(seconds=45)
    """How long a member may be silent before its partitions go to others. Shorter: a dead member is replaced sooner.
    Longer: a restart or a pause does not move partitions. The broker's `group.min.session.timeout.ms` and
    `group.max.session.timeout.ms` limit it."""

    security: SecuritySpec = SecuritySpec()
    """How to connect and log in."""

    @property
    def addresses(self) -> tuple[Address, ...]:
        """The bootstrap servers."""
        return parse_addresses(self.bootstrap_servers)

    @property
    def start_time(self) -> datetime | None:
        """The time of ``startFrom`` in UTC; None for earliest and latest."""
        return None if self.start_from in ("earliest", "latest") else parse_time(self.start_from)

    def selects(self, topic: str) -> bool:
        """Whether records of ``topic`` are wanted."""
        if self.topics is not None:
            return topic in self.topics
        return re.match(self.subscription_pattern, topic) is not None

    @property
    def subscription_pattern(self) -> str:
        """Both patterns and the rule on internal topics as one, for ``re.match`` (which is what kafka-python does).

        A lookahead for each keeps their meaning of "found anywhere". Only with ``topicPattern``.
        """
        if self.topic_pattern is None:
            raise ValueError("subscribed by names, not by a pattern")
        excluded = f"(?!.*(?:{self.exclude_topic_pattern}))" if self.exclude_topic_pattern else ""
        return f"(?!{INTERNAL_PREFIX})(?=.*(?:{self.topic_pattern})){excluded}"

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        refuse_all(list(self._contradictions()))
        return self

    def _contradictions(self) -> Iterator[Finding]:
        if self.topics is None and self.topic_pattern is None:
            yield Finding("is missing, and so is topicPattern", "set one of them", ("topics",))
        if self.topics is not None and self.topic_pattern is not None:
            yield Finding("contradicts topics: only one of them can be set", "remove one of them", ("topicPattern",))
        if self.exclude_topic_pattern is not None and self.topic_pattern is None:
            yield Finding(
                "needs topicPattern: there is nothing to exclude from",
                "remove it, or use topicPattern",
                ("excludeTopicPattern",),
            )
        for name in sorted({name for name in self.topics or () if (self.topics or ()).count(name) > 1}):
            yield Finding(f"names {name} twice", "remove the repetition", ("topics",))
        if self.topic_pattern is not None and self.topics is None:
            try:
                re.compile(self.subscription_pattern)
            except re.error as error:
                yield Finding(
                    f"cannot be combined with excludeTopicPattern: {error.msg}",
                    "name groups differently",
                    ("topicPattern",),
                )
