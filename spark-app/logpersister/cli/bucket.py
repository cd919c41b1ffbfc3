"""Reaching the bucket with a deadline, and with errors that end a command as they should."""

import argparse
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from logpersister.cli.exits import CommandError, Exit, UnreachableError
from logpersister.cli.tables import printable
from logpersister.manifest import LogPersister
from logpersister.manifest.secrets import Secrets
from logpersister.storage.connection import Timeouts
from logpersister.storage.errors import PLAIN_SERVER, TLS_SERVER, WRONG_KEYS, StorageError
from logpersister.storage.store import ObjectStore, open_store
from logpersister.verify.inventory import stored_topics


@contextmanager
def opened(resource: LogPersister, secrets: Secrets, timeouts: Timeouts | None = None) -> Iterator[ObjectStore]:
    """Open the bucket; errors of the storage inside the block end the command."""
    try:
        store = open_store(resource.spec.storage, secrets, timeouts=timeouts)
        try:
            yield store
        finally:
            store.close()
    except StorageError as error:
        if error.code in WRONG_KEYS:
            field = "spec.storage" if resource.spec.storage.secret_name is None else "spec.storage.secretName"
            raise CommandError(f"{field}: {error}", Exit.INVALID) from error
        may_pass = error.retriable and error.code not in (PLAIN_SERVER, TLS_SERVER)
        raise UnreachableError(f"spec.storage: {error}", may_pass=may_pass) from error


def topics_of(store: ObjectStore, resource: LogPersister, topics: Sequence[str] | None = None) -> Iterator[str]:
    """Yield these topics (``--topics``), else those of the manifest. Raises CommandError."""
    kafka = resource.spec.kafka
    for topic in topics or ():
        if not kafka.selects(topic):
            raise CommandError(f"--topics: {printable(topic)} is no topic that spec.kafka selects", Exit.INVALID)
    named = topics or kafka.topics
    yield from filter(kafka.selects, stored_topics(store)) if named is None else dict.fromkeys(named)


def described_by(arguments: argparse.Namespace, name: str) -> dict[str, str | None]:
    """Return a section ``storage`` for a bucket that no manifest describes, at the endpoint that the options name.

    Without one it is that of the environment, as for the AWS SDK.
    """
    environment = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    return {
        "bucket": name,
        "endpoint": arguments.endpoint or environment,
        "region": arguments.region,
        "secretName": arguments.s3_secret,
        "caSecretName": arguments.s3_ca_secret,
    }
