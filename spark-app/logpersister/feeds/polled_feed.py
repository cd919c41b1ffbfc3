"""A feed as a replica polls it: what is sent, what came last, and what an answer means. No I/O."""

import hashlib
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import urlsplit

from logpersister import __version__
from logpersister.feeds.content import Digest, digest_of, takes
from logpersister.feeds.exchange import Answer, Request
from logpersister.feeds.pauses import pause, retry_after
from logpersister.feeds.record import Record
from logpersister.feeds.schedule import Slots
from logpersister.feeds.secret_texts import SecretText, SecretValues
from logpersister.manifest.blocks.feeds import FeedSpec

Result = Literal["new", "unchanged", "refused", "failed", "throttled"]
"""What a poll gave. ``refused``: a body that the manifest does not take; ``throttled``: 429 or 5xx, and a pause."""
RESULTS: tuple[Result, ...] = ("new", "unchanged", "refused", "failed", "throttled")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a poll gave."""

    result: Result
    reason: str = ""
    """Why there is no content, where one was expected."""
    record: Record | None = None


@dataclass(slots=True)
class Seen:
    """What a feed gave last."""

    digest: bytes | None = None
    etag: str | None = None
    last_modified: str | None = None


@dataclass(slots=True)
class PolledFeed:
    """One feed of a replica, and its state."""

    spec: FeedSpec
    slots: Slots
    url: SecretText
    headers: tuple[tuple[str, SecretText], ...]
    body: SecretText | None
    proxy: SecretText | None
    values: SecretValues
    path: str
    """Field of the manifest that has the feed."""
    host: str
    """Server that counts for the limit of requests at once."""
    digest: Digest | None
    new_since: float
    """When it last gave something new, or when it was polled first; monotonic."""
    seen: Seen = field(default_factory=Seen)
    due: float | None = None
    """When the last poll was due; monotonic."""
    resumes: float = 0.0
    """When its pause ends; monotonic."""
    refusals: int = 0
    """Answers in a row that asked for a pause."""
    reason: str = ""
    """Why its last poll gave nothing that could be compared; empty: it did."""
    missed: int = 0
    """Polls since the last record that gave nothing that could be compared."""
    missed_since: int = 0
    """When the first of them ended, in milliseconds since the epoch."""
    is_silent: bool = False
    polls: dict[Result, int] = field(default_factory=lambda: dict.fromkeys(RESULTS, 0))
    """How many polls gave what."""
    seconds: float | None = None
    """How long its last poll took; None before the first."""

    @classmethod
    def of(cls, spec: FeedSpec, place: int, share: float, values: SecretValues, now: float) -> "PolledFeed":
        """Compile a feed. Its Secrets are read when it is polled: one that is missing keeps no other feed waiting."""
        path = f"spec.feeds[{place}]"
        given = {name.lower() for name in spec.headers}
        defaults = {"User-Agent": f"logpersister/{__version__}", "Accept": ", ".join(spec.content.types) or "*/*"}
        texts = {name: text for name, text in defaults.items() if name.lower() not in given} | spec.headers
        return cls(
            spec=spec,
            slots=Slots.of(spec.id, spec.periodicity.total_seconds(), share),
            url=SecretText.of(spec.url, f"{path}.url", values, is_url=True),
            headers=tuple(
                (name, SecretText.of(text, f"{path}.headers.{name}", values)) for name, text in texts.items()
            ),
            body=None if spec.body is None else SecretText.of(spec.body, f"{path}.body", values),
            proxy=None if spec.proxy is None else SecretText.of(spec.proxy, f"{path}.proxy", values, is_url=True),
            values=values,
            path=path,
            host=urlsplit(spec.url).netloc.rpartition("@")[2].lower(),
            digest=digest_of(spec.content),
            new_since=now,
        )

    def new_at(self, now: float, wall: float) -> float | None:
        """Return when it last gave something new, in seconds since the epoch; None: not in this process.

        ``now`` and ``wall`` are the same moment, monotonic and since the epoch.
        """
        return wall - (now - self.new_since) if self.polls["new"] else None

    def request(self) -> Request:
        """Return what the server is asked now; raises `ManifestError` for Secrets that cannot be used."""
        seen, authority = self.seen, self.spec.ca_secret_name
        lines = [f"{name}: {text.reveal()}" for name, text in self.headers]
        if seen.digest is not None and self.spec.method == "GET":
            lines += [f"If-None-Match: {seen.etag}"] if seen.etag else []
            lines += [f"If-Modified-Since: {seen.last_modified}"] if seen.last_modified else []
        body = None
        if self.spec.method == "POST":
            body = b"" if self.body is None else self.body.reveal().encode()
        return Request(
            url=self.url.reveal(),
            timeout=self.spec.timeout.total_seconds(),
            max_bytes=self.spec.max_bytes,
            headers=tuple(lines),
            body=body,
            proxy=None if self.proxy is None else self.proxy.reveal(),
            authority=authority and self.values.authority(authority, f"{self.path}.caSecretName"),
        )

    def take(self, answer: Answer, replica: str, now: float, wall: float) -> Outcome:
        """Return what an answer means, and remember it."""
        outcome = self._judged(answer, replica, wall)
        self.reason = outcome.reason
        if outcome.reason:
            self.missed_since = self.missed_since if self.missed else round(wall * 1000)
            self.missed += 1
        self.polls[outcome.result] += 1
        self.seconds = answer.seconds
        if outcome.result == "throttled":
            self.refusals += 1
            asked = retry_after(answer.headers.get("retry-after"), wall)
            self.resumes = now + pause(self.slots.period, self.refusals, asked)
        else:
            self.refusals = 0
        if outcome.result == "new":
            self.new_since = now
            self.missed = 0
        return outcome

    def forget(self) -> None:
        """Take what comes next for new: what came last was dropped."""
        self.seen = Seen()

    def is_overdue(self, now: float) -> bool:
        """Whether it has given nothing new for longer than ``silentAfter``."""
        return now - self.new_since > self.spec.silent_after.total_seconds()

    def _judged(self, answer: Answer, replica: str, wall: float) -> Outcome:
        if answer.status == 304 and answer.error is None and self.seen.digest is not None:
            return Outcome("unchanged")
        if answer.error is not None or answer.status not in {200, 203}:
            is_throttled = answer.error is None and (answer.status == 429 or answer.status >= 500)
            if 400 <= answer.status < 500:  # perhaps for the sake of a condition: 412, or 431 for a long ETag
                self.seen = Seen(self.seen.digest)
            reason = answer.error or f"the server answers {answer.status}"
            return Outcome("throttled" if is_throttled else "failed", reason)
        content_type = answer.headers.get("content-type", "")
        if not takes(self.spec.content.types, content_type):
            return Outcome("refused", f"content type {content_type[:80] or 'missing'}")
        whole = hashlib.sha256(answer.body).digest()
        digest = whole if self.digest is None else self.digest(answer.body)
        is_new = digest != self.seen.digest
        self.seen = Seen(digest, answer.headers.get("etag"), answer.headers.get("last-modified"))
        if not is_new:
            return Outcome("unchanged")
        return Outcome("new", record=self._record(answer, replica, wall, whole, digest))

    def _record(self, answer: Answer, replica: str, wall: float, whole: bytes, digest: bytes) -> Record:
        headers = {
            "replica": replica,
            "url": self.spec.url,  # as the manifest has it, so without what Secrets hold
            "status": str(answer.status),
            "content-type": answer.headers.get("content-type"),
            "etag": answer.headers.get("etag"),
            "duration-ms": str(round(answer.seconds * 1000)),
            "sha256": whole.hex(),
            "content-sha256": digest.hex() if digest != whole else None,
            "postfix": self.spec.postfix or None,
            "missed-polls": str(self.missed) if self.missed else None,
            "missed-since": str(self.missed_since) if self.missed else None,
        }
        told = tuple((name, value.encode()) for name, value in headers.items() if value is not None)
        return Record(self.spec.id, answer.body, round(wall * 1000), told)
