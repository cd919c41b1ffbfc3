"""``spec.kafka``: which brokers, which topics, from where, and how to log in."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Literal

from pydantic import Field

from logpersister.forms.constraint import (
    HOST,
    PORT,
    Duration,
    Flag,
    Model,
    Regex,
    SecretName,
    Text,
    Unique,
    must,
    never,
)
from logpersister.forms.problems import Finding, refuse
from logpersister.forms.rule import exactly_one, refuses

Protocol = Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]
Mechanism = Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"]

INTERNAL_PREFIX = "__"
"""Topics that Kafka and its tools keep for themselves begin so; a pattern never matches them."""

INTERNAL_TOPICS = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state", "__cluster_metadata"})
"""Kafka's own topics: their records are binary state of the broker; never persisted, even when named."""

_CLOCK = "([01][0-9]|2[0-3]):[0-5][0-9]"
_TIME = rf"[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}[Tt]{_CLOCK}:[0-5][0-9](\.[0-9]{{1,6}})?([Zz]|[+-]{_CLOCK})"


@dataclass(frozen=True, slots=True)
class Address:
    """Host and port of a broker."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_addresses(text: str) -> tuple[Address, ...]:
    """Return the addresses of ``host:port,host:port``; raise `RefusedError` naming the first that is none."""
    return tuple(_address(entry.strip(" ")) for entry in text.split(","))


def _address(entry: str) -> Address:
    host, separator, port = entry.rpartition(":")
    if not separator or re.fullmatch(HOST, host) is None or re.fullmatch(PORT, port) is None:
        told = f"has an entry that is not an address ({entry[:80]!r})"
        raise refuse(told, "write host:port,host:port, for example broker-1:9092")
    return Address(host.strip("[]"), int(port))


def parse_time(text: str) -> datetime:
    """Return the instant of an RFC 3339 text, in UTC; raise `RefusedError` for anything else."""
    remedy = "write earliest, latest, or a time with its offset such as 2026-11-21T00:00:00Z"
    if re.fullmatch(_TIME, text) is None:
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


BootstrapServers = Annotated[
    str,
    Text(
        rf"^ *{HOST}:{PORT} *(, *{HOST}:{PORT} *)*$",
        "has an entry that is not an address",
        "write host:port,host:port, for example broker-1:9092",
        4000,
        before=(
            never("@", "has credentials in it", "put them in the Secret that spec.kafka.security.secretName names"),
            parse_addresses,
        ),
    ),
]
GROUP_ID = Text(
    r"^[A-Za-z0-9_-][A-Za-z0-9._-]*$",
    "is not a group id that can also name a folder",
    "use letters, digits, `.`, `_` and `-`, not beginning with a dot",
    200,
)
GroupId = Annotated[str, GROUP_ID]
TopicName = Annotated[
    str,
    Text(
        r"^[A-Za-z0-9._-]+$",
        "is not a name that Kafka allows for a topic",
        "write the name as `kafka-topics --list` prints it; for a pattern use topicPattern",
        249,
        conditions=(
            never(
                "^[.][.]?$",
                "is not a name that Kafka allows for a topic",
                "write the name as `kafka-topics --list` prints it",
            ),
            must(
                lambda name: name not in INTERNAL_TOPICS,
                "is an internal topic of Kafka",
                "remove it: its records are state of the broker, not data",
            ),
        ),
    ),
]
StartFrom = Annotated[
    str,
    Text(
        rf"^(earliest|latest|{_TIME})$",
        "is neither earliest, latest nor an RFC 3339 time",
        "write earliest, latest, or a time with its offset such as 2026-11-21T00:00:00Z",
        40,
        conditions=(_check_start,),
    ),
]
Rack = Annotated[
    str, Text(r"^[!-~]+$", "is not a rack", "write the broker.rack of this member's zone, such as eu-west-1a", 249)
]


class SecuritySpec(Model):
    """How to connect and log in. Secrets themselves are where ``secretName`` and ``caSecretName`` say."""

    protocol: Protocol = "PLAINTEXT"
    """Protocol of the broker's listener."""

    mechanism: Mechanism | None = None
    """Login mechanism; required with SASL, refused without."""

    secret_name: SecretName | None = None
    """Secret with `username` and `password` (PLAIN, SCRAM), `token` or `token-url` (OAUTHBEARER), `ca.crt`, `tls.crt`
    and `tls.key`; or that of a Strimzi `KafkaUser`. Required with SASL.
    """

    ca_secret_name: SecretName | None = None
    """Secret with the key `ca.crt`, such as Strimzi's `<cluster>-cluster-ca-cert`. Default: that key of `secretName`;
    without it the public CAs."""

    verify_hostname: Flag = True
    """Whether the broker's certificate must contain the host name. If not, anybody with a certificate of the
    same CA can impersonate a broker."""

    @property
    def uses_tls(self) -> bool:
        return self.protocol in ("SSL", "SASL_SSL")

    @property
    def uses_sasl(self) -> bool:
        return self.protocol in ("SASL_PLAINTEXT", "SASL_SSL")

    @refuses
    def _a_login_is_whole(self) -> Iterator[Finding]:
        told = f"is missing: protocol {self.protocol} needs"
        if self.uses_sasl and self.mechanism is None:
            yield Finding(f"{told} a way to log in", "set it, for example to SCRAM-SHA-512", ("mechanism",))
        if self.uses_sasl and self.secret_name is None:
            yield Finding(f"{told} credentials", "name the Secret that holds them", ("secretName",))

    @refuses
    def _the_protocol_uses_what_is_set(self) -> Iterator[Finding]:
        told = f"contradicts protocol {self.protocol}, which has no"
        if not self.uses_sasl and self.mechanism is not None:
            remedy = "set protocol to SASL_SSL or SASL_PLAINTEXT, or remove mechanism"
            yield Finding(f"{told} login", remedy, ("mechanism",))
        if self.protocol == "PLAINTEXT" and self.secret_name is not None:
            remedy = "set protocol to what the listener speaks, or remove secretName"
            yield Finding(f"{told} use for a Secret", remedy, ("secretName",))
        of_tls = {"caSecretName": self.ca_secret_name is not None, "verifyHostname": not self.verify_hostname}
        for name, is_set in of_tls.items():
            if is_set and not self.uses_tls:
                remedy = f"set protocol to SSL or SASL_SSL, or remove {name}"
                yield Finding(f"{told} certificates", remedy, (name,))


class KafkaSpec(Model):
    """Where records come from."""

    bootstrap_servers: BootstrapServers
    """Brokers for the first connection, as `host:port,host:port`."""

    group_id: GroupId | None = None
    """Consumer group; its committed offsets are the progress. Default: `metadata.name`."""

    topics: Annotated[tuple[TopicName, ...], Field(min_length=1, max_length=1000), Unique()] | None = None
    """Topics by name. Exactly one of `topics` and `topicPattern` is needed."""

    topic_pattern: Regex | None = None
    """Topics by regular expression, found anywhere in the name unless anchored. Topics that
    begin with `__` never match.
    """

    exclude_topic_pattern: Regex | None = None
    """Topics to exclude from `topicPattern`."""

    start_from: StartFrom = "earliest"
    """Where the group begins: `earliest`, `latest`, or an RFC 3339 time. It is decided once per topic;
    what is created later begins at its first record."""

    isolation_level: Literal["read_committed", "read_uncommitted"] = "read_committed"
    """`read_committed` leaves out records of aborted transactions. `read_uncommitted` stores them, and does not wait
    for open transactions.
    """

    on_data_loss: Literal["fail", "skip"] = "fail"
    """When Kafka has deleted records before they were stored: `fail` holds the partition and reports the missing range;
    `skip` records the loss and continues.
    """

    client_rack: Rack | None = None
    """Rack (availability zone) of the members, to fetch from the closest replica; brokers need a
    `replica.selector.class`.
    """

    session_timeout: Annotated[timedelta, Duration("6s", "30m")] = timedelta(seconds=45)
    """How long a member may send no heartbeat before others get its partitions."""

    security: SecuritySpec = SecuritySpec()
    """How to connect and log in."""

    @property
    def addresses(self) -> tuple[Address, ...]:
        return parse_addresses(self.bootstrap_servers)

    @property
    def reads_committed(self) -> bool:
        """Whether records of aborted transactions are left out."""
        return self.isolation_level == "read_committed"

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

    _topics_are_selected_in_one_way = exactly_one("topics", "topicPattern")

    @refuses
    def _patterns_go_together(self) -> Iterator[Finding]:
        if self.topic_pattern is None:
            if self.exclude_topic_pattern is not None:
                told = "needs topicPattern: there is nothing to exclude from"
                yield Finding(told, "remove it, or use topicPattern", ("excludeTopicPattern",))
            return
        try:
            re.compile(self.subscription_pattern)
        except re.error as error:
            told = f"cannot be combined with excludeTopicPattern: {error.msg}"
            yield Finding(told, "name groups differently", ("topicPattern",))
