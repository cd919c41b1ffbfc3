"""``spec`` of a FeedCollector: which feeds are polled, how often, what of an answer is content, where records go."""

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Annotated, Final, Literal
from urllib.parse import urlsplit

from pydantic import Field

from logpersister.forms.constraint import Duration, Model, SecretName, Size, Text, Unique, Whole, must, never
from logpersister.forms.linear_pattern import check_linear
from logpersister.forms.problems import Finding
from logpersister.forms.rule import change_rule, refuses
from logpersister.manifest.blocks.accounts import ServiceAccountSpec
from logpersister.manifest.blocks.kafka import BootstrapServers, KafkaSpec, SecuritySpec, TopicName
from logpersister.manifest.blocks.pods import PodTemplate

MOST_FEEDS: Final = 50_000
SECRET: Final = re.compile(r"\$\{secret:(?P<name>[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?)/(?P<key>[A-Za-z0-9._-]+)\}")
"""A key of a Secret in a URL, a header or a body."""

_REMEDY: Final = "write ${secret:name/key} for a key of a Secret"
_OURS: Final = frozenset(
    {
        "accept-encoding",
        "connection",
        "content-length",
        "host",
        "if-modified-since",
        "if-none-match",
        "transfer-encoding",
    }
)
_OF_LOGINS: Final = frozenset({"authorization", "cookie", "proxy-authorization", "x-api-key", "x-auth-token"})


def _names_secrets_well(text: str) -> bool:
    return "${" not in SECRET.sub("", text)


def _has_no_login(url: str) -> bool:
    """Whether what may stand before the host is of Secrets only."""
    login = re.match(r"[a-z]+://([^/?#]*)@", SECRET.sub("", url))
    return login is None or login[1] in {"", ":"}


def _has_a_host(url: str) -> bool:
    """Whether it names a host, and a port that there is, if any."""
    try:
        parts = urlsplit(SECRET.sub("1", url))
        return bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


_UNNAMED: Final = "has a ${ that begins no ${secret:name/key}"
_SECRETS_ARE_NAMED: Final = must(_names_secrets_well, _UNNAMED, _REMEDY)


def _url(longest: int, example: str) -> Text:
    return Text(
        r"^https?://[!-~]+$",
        "is not an http or https URL",
        f"write for example {example}; other characters than those of ASCII as %XX",
        longest,
        conditions=(
            _SECRETS_ARE_NAMED,
            must(_has_a_host, "has no host, or a port that there is not", f"write for example {example}, IPv6 in [ ]"),
            must(_has_no_login, "has credentials in it", f"{_REMEDY}, for example ${{secret:shop/user}}"),
        ),
    )


ClassName = Annotated[
    str,
    Text(
        r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$",
        "is not the name of a storage class",
        "write lower case letters, digits, - and .",
        253,
    ),
]
FeedId = Annotated[
    str,
    Text(
        r"^[A-Za-z0-9][A-Za-z0-9._-]*$",
        "is not an id of a feed, which is also a key and names files",
        "use letters, digits, `.`, `_` and `-`, a letter or digit first",
        200,
    ),
]
HeaderName = Annotated[
    str,
    Text(
        r"^[A-Za-z0-9!#\$%&'*+.^_`|~-]+$",
        "is not the name of an HTTP header",
        "write for example Accept",
        100,
        conditions=(
            must(lambda name: name.lower() not in _OURS, "is a header that each request has already", "remove it"),
        ),
    ),
]
HeaderValue = Annotated[
    str,
    Text(
        r"^[ -~]*$",
        "has characters that an HTTP header cannot have",
        "use those of ASCII, on one line",
        4000,
        conditions=(_SECRETS_ARE_NAMED,),
    ),
]
MediaType = Annotated[
    str,
    Text(
        r"^[a-z0-9!#\$&^_.+-]+/([a-z0-9!#\$&^_.+-]+|[*])$",
        "is not a media type in lower case",
        "write for example application/json or text/*",
        200,
    ),
]
JsonPointer = Annotated[
    str,
    Text(r"^(/([^~/]|~[01])*)+$", "is not a JSON pointer (RFC 6901)", "write for example /data/items", 1000),
]
Pattern = Annotated[
    str,
    Text(
        r"^[^\r\n]+$",
        "is empty or has a line break",
        'write a pattern such as "generated at [0-9:]+"',
        1000,
        before=(never("^ *$", "is empty", "remove it"),),
        conditions=(check_linear,),
    ),
]


class ContentSpec(Model):
    """What of an answer is content: only new content becomes a record."""

    types: Annotated[tuple[MediaType, ...], Field(max_length=20), Unique()] = ()
    """Media types that are taken; answers of others, such as an error page of HTML with status 200, are refused.
    Default: any."""

    json_pointer: JsonPointer | None = None
    """Part of a JSON document that is compared (RFC 6901), for feeds with a new time in each answer; the record has
    the whole body."""

    without: Pattern | None = None
    """Pattern of bytes that are not compared (RE2 syntax)."""

    @refuses
    def _one_rule_says_what_is_compared(self) -> Iterator[Finding]:
        if self.json_pointer is not None and self.without is not None:
            yield Finding("contradicts jsonPointer: the body is compared in one way", "remove one", ("without",))


class FeedSpec(Model):
    """An HTTP source."""

    id: FeedId
    """Key of its records, so that a feed is one partition; unique."""

    url: Annotated[str, _url(4000, "https://shop.example.com/prices.json")]
    """Address. `${secret:name/key}` is replaced by that key of a Secret, escaped for a URL."""

    periodicity: Annotated[timedelta, Duration("100ms", "30d")]
    """Time between two polls of one replica."""

    headers: Annotated[dict[HeaderName, HeaderValue], Field(max_length=50)] = Field(default_factory=dict)
    """Headers of each request; values may name Secrets as `url` does."""

    method: Literal["GET", "POST"] = "GET"
    """How it is asked."""

    body: Annotated[str, Field(strict=True, max_length=100_000)] | None = None
    """Body of a request by POST; may name Secrets as `url` does."""

    timeout: Annotated[timedelta, Duration("100ms", "1h")] = timedelta(seconds=30)
    """How long an answer may take as a whole, redirects included."""

    max_bytes: Annotated[int, Size("1Ki", "512Mi")] = 1000 * 2**10
    """Size above which an answer is refused, decompressed. The default fits the default `max.message.bytes` of
    topics."""

    silent_after: Annotated[timedelta, Duration("1s", "365d")] = timedelta(hours=1)
    """How long a feed may give nothing new, or fail, before it counts as silent."""

    postfix: Annotated[
        str, Text(r"^[A-Za-z0-9._-]*$", "is not the end of a file's name", "write for example .json", 50)
    ] = ""
    """End of the names of its files, kept in a header of each record."""

    content: ContentSpec = ContentSpec()
    """What of an answer is content. Default: all bytes of any type."""

    ca_secret_name: SecretName | None = None
    """Secret with the key `ca.crt`, the CA of its server. Default: the public CAs."""

    proxy: Annotated[str, _url(1000, "http://proxy.example.com:3128")] | None = None
    """Proxy; may name Secrets as `url` does. Default: the environment's `HTTPS_PROXY`, `http_proxy` and `NO_PROXY`."""

    def texts(self) -> Iterator[str]:
        """Yield the texts that may name Secrets."""
        yield from (self.url, *self.headers.values())
        yield from filter(None, (self.body, self.proxy))

    @refuses
    def _a_body_is_posted(self) -> Iterator[Finding]:
        if self.body is not None and self.method != "POST":
            yield Finding("contradicts method GET, which has no body", "set method: POST, or remove it", ("body",))

    @refuses
    def _secrets_are_named_well(self) -> Iterator[Finding]:
        if self.body is not None and not _names_secrets_well(self.body):
            yield Finding(_UNNAMED, _REMEDY, ("body",))

    @refuses
    def _logins_are_secrets(self) -> Iterator[Finding]:
        for name, value in self.headers.items():
            if name.lower() in _OF_LOGINS and SECRET.search(value) is None:
                remedy = f"{_REMEDY}; secrets do not belong in a manifest"
                yield Finding(f"has a login in {name}", remedy, ("headers",))

    @refuses
    def _silence_is_longer_than_a_period(self) -> Iterator[Finding]:
        if self.silent_after < self.periodicity:
            yield Finding("is shorter than periodicity", "raise it", ("silentAfter",))


class CollectorKafkaSpec(Model):
    """Where records go."""

    bootstrap_servers: BootstrapServers
    """Brokers for the first connection, as `host:port,host:port`."""

    topic: TopicName
    """Topic of all records, which must exist."""

    security: SecuritySpec = SecuritySpec()
    """How to connect and log in."""

    @property
    def connection(self) -> KafkaSpec:
        """The same as clients take it."""
        return KafkaSpec(bootstrap_servers=self.bootstrap_servers, topics=(self.topic,), security=self.security)


class VolumeClaimSpec(Model):
    """Volume of a replica, which outlives its pod."""

    size: Annotated[int, Size("64Mi", "2Ti")]
    """Size that is asked for; more than `maxBytes`, because file systems need some of it."""

    storage_class_name: ClassName | None = None
    """Class of the volume. Default: that of the cluster."""


class SpoolSpec(Model):
    """Local directory of what Kafka does not have yet."""

    max_bytes: Annotated[int, Size("1Mi", "1Ti")] = 2**30
    """Size that it may have."""

    when_full: Literal["dropOldest", "dropNewest"] = "dropOldest"
    """What is dropped when Kafka is away for longer than that."""

    volume_claim: VolumeClaimSpec | None = None
    """On Kubernetes: volume for the spool of each replica; cannot be changed. Default: the disk of the node, which is
    given up with the pod."""

    @refuses
    def _it_fits_into_its_volume(self) -> Iterator[Finding]:
        if self.volume_claim is not None and self.volume_claim.size < self.max_bytes * 1.1:
            yield Finding("is not larger than maxBytes by a tenth", "raise it", ("volumeClaim", "size"))


_CLAIM: Final = (
    "(has({0}.spool) && has({0}.spool.volumeClaim) ? [string({0}.spool.volumeClaim.size), "
    "has({0}.spool.volumeClaim.storageClassName) ? {0}.spool.volumeClaim.storageClassName : ''] : [])"
)
"""CEL: what a version of the spec asks for as volumes."""


class CollectorSpec(Model):
    """What is collected."""

    feeds: Annotated[tuple[FeedSpec, ...], Field(min_length=1, max_length=MOST_FEEDS)]
    """Sources, each polled by each replica."""

    kafka: CollectorKafkaSpec
    """Where records go."""

    replicas: Annotated[int, Whole(1, 20)] = 1
    """Number of replicas. Each polls all feeds; their polls are spread over the period."""

    requests_per_host: Annotated[int, Whole(1, 1000)] = 8
    """Requests of a replica to one host that run at once."""

    spool: SpoolSpec = SpoolSpec()
    """Local directory of what Kafka does not have yet."""

    shutdown_grace: Annotated[timedelta, Duration("0s", "1h")] = timedelta(seconds=30)
    """How long the rest may be sent after SIGTERM."""

    network_policy: Literal["None", "Restricted"] = "None"
    """On Kubernetes, `Restricted`: other pods may connect only to port 8080 (metrics, probes, pages)."""

    service_account: ServiceAccountSpec = ServiceAccountSpec()
    """Service account of the pods, for a cloud's identities."""

    pod_template: PodTemplate | None = None
    """Merged into the pods; their container is named `collector`."""

    @change_rule(
        f"{_CLAIM.format('self')} == {_CLAIM.format('oldSelf')}",
        "cannot be changed: a volume stays as it was made",
        "set the old value, or create a resource with another name",
        "spool",
        "volumeClaim",
    )
    def _volumes_stay(self, before: "CollectorSpec") -> bool:
        return self.spool.volume_claim == before.spool.volume_claim

    @refuses
    def _ids_are_unique(self) -> Iterator[Finding]:
        first: dict[str, int] = {}
        for place, feed in enumerate(self.feeds):
            if first.setdefault(feed.id, place) != place:
                yield Finding(f"is the id of feeds[{first[feed.id]}], too", "give each its own", ("feeds", place, "id"))

    def secret_names(self) -> list[str]:
        """Return the names of all Secrets that it names, sorted, each once."""
        security = self.kafka.security
        named = {security.secret_name, security.ca_secret_name, *(feed.ca_secret_name for feed in self.feeds)}
        named |= {found["name"] for feed in self.feeds for text in feed.texts() for found in SECRET.finditer(text)}
        return sorted(name for name in named if name is not None)
