"""What `logpersister check` says of the bucket, and of those who are told of finished folders."""

from collections.abc import Iterator, Mapping
from contextlib import closing

from logpersister.cli import brokers, bucket, taken
from logpersister.cli.check.finding import Finding, tell_or_refuse
from logpersister.cli.exits import CommandError, Exit, UnreachableError
from logpersister.finish.telling import NotTakenError
from logpersister.finish.webhook import Webhook
from logpersister.group.answers import TopicDescription
from logpersister.group.offsets import LogReader
from logpersister.manifest import LogPersister
from logpersister.manifest.blocks.storage import StorageSpec
from logpersister.manifest.secrets import Secrets
from logpersister.storage.copies import open_copies


def copy_findings(number: int, resource: LogPersister, secrets: Secrets, seconds: float) -> Iterator[Finding]:
    """Yield what is to be said of a copy of the bucket; `number`: from 1."""
    with open_copies(resource.spec.storage, secrets) as copies, bucket.using(copies[number - 1]) as store:
        what = "; ".join(["can be read and written", *store.check(resource.group_id, seconds)])
    yield Finding(f"copy {number}", "ok", f"{_where(store.storage)}: {what}")


def bucket_findings(resource: LogPersister, secrets: Secrets, seconds: float, *, refuses: bool) -> Iterator[Finding]:
    storage = resource.spec.storage
    with bucket.opened(resource, secrets) as store:
        what = "; ".join(["can be read and written", *store.check(resource.group_id, seconds)])
        problems = list(taken.prefix_problems(resource, store))
    yield Finding("bucket", "ok", f"{_where(storage)}: {what}")
    if not storage.conditional_writes:
        told = (
            "spec.storage.conditionalWrites: false: members look before they write, which is not atomic "
            "(docs/guarantees.md#stores-without-conditional-writes)"
        )
        yield Finding("bucket", "warning", told)
    yield from tell_or_refuse("bucket", problems, refuses=refuses)


def webhook_findings(resource: LogPersister, secrets: Secrets, _: float) -> Iterator[Finding]:
    finish = resource.spec.finish
    if finish is None or finish.webhook is None:
        return
    try:
        Webhook(finish.webhook, secrets).check()
    except NotTakenError as error:
        raise UnreachableError(f"spec.finish.webhook.url: {error}", may_pass=True) from None
    yield Finding("webhook", "ok", f"{finish.webhook.url.partition('?')[0]}: can be reached")


def told_topic_findings(resource: LogPersister, secrets: Secrets, seconds: float) -> Iterator[Finding]:
    finish = resource.spec.finish
    if finish is None or finish.kafka is None:
        return
    topic = finish.kafka.topic
    config = brokers.config(resource, secrets, seconds, brokers.reach(resource, secrets, seconds))

    def describe() -> Mapping[str, TopicDescription]:
        with closing(LogReader(config, read_committed=False)) as reader:
            return reader.describe([topic])

    described = brokers.patiently(f"topic {topic} could not be described", seconds, describe)
    if topic not in described:
        message = f"spec.finish.kafka.topic: {topic}: the topic does not exist; create it, then folders are told"
        raise CommandError(message, Exit.INVALID)
    yield Finding("told", "ok", f"topic {topic} ({len(described[topic].leaders)})")


def _where(storage: StorageSpec) -> str:
    return f"{f's3://{storage.bucket}/{storage.prefix}'.rstrip('/')} at {storage.endpoint or 'AWS'}"
