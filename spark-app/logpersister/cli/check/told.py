"""What `logpersister check` says of those who are told of finished folders."""

from collections.abc import Iterator, Mapping
from contextlib import closing

from logpersister.cli import brokers
from logpersister.cli.check.finding import Finding
from logpersister.cli.exits import CommandError, Exit, UnreachableError
from logpersister.finish.telling import NotTakenError
from logpersister.finish.webhook import Webhook
from logpersister.group.answers import TopicDescription
from logpersister.group.offsets import LogReader
from logpersister.manifest import LogPersister
from logpersister.manifest.secrets import Secrets


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
