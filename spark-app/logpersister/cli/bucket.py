"""Reaching the bucket with a deadline, and with errors that end a command as they should."""

import argparse
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from logpersister.cli.exits import CommandError, Exit, UnreachableError
from logpersister.cli.tables import printable
from logpersister.manifest import LogPersister
from logpersister.manifest.blocks.storage import StorageSpec
from logpersister.manifest.secrets import Secrets
from logpersister.storage.connection import Timeouts
from logpersister.storage.copies import STORAGE, Copy, open_copies
from logpersister.storage.errors import PLAIN_SERVER, TLS_SERVER, WRONG_KEYS, StorageError
from logpersister.storage.names import object_address
from logpersister.storage.store import ObjectStore, open_store
from logpersister.verify.inventory import stored_topics


@contextmanager
def opened(resource: LogPersister, secrets: Secrets, timeouts: Timeouts | None = None) -> Iterator[ObjectStore]:
    """Open the bucket; errors of the storage inside the block end the command."""
    with (
        _ending(STORAGE, resource.spec.storage),
        open_store(resource.spec.storage, secrets, timeouts=timeouts) as store,
    ):
        yield store


@contextmanager
def using(copy: Copy) -> Iterator[ObjectStore]:
    """Give the store of a copy; its errors inside the block end the command."""
    with _ending(copy.field, copy.store.storage), copy.named():
        yield copy.store


@contextmanager
def numbered(resource: LogPersister, secrets: Secrets, number: int) -> Iterator[ObjectStore]:
    """Open the store that ``--store`` names: 0 the bucket, from 1 its copies. Errors name the other stores."""
    stores = resource.spec.storage.stores
    if number >= len(stores):
        told = f"there is no such store: spec.storage.copies has {len(stores) - 1}"
        raise CommandError(f"--store {number}: {told}", Exit.INVALID)
    try:
        if number == 0:
            with opened(resource, secrets) as store:
                yield store
        else:
            with open_copies(resource.spec.storage, secrets) as copies, using(copies[number - 1]) as store:
                yield store
    except UnreachableError as error:
        others = [
            f"--store {place} ({object_address(one.bucket, one.prefix)})"
            for place, one in enumerate(stores)
            if place != number
        ]
        if not others:
            raise
        raise UnreachableError(f"{error}; or take {' or '.join(others)}", may_pass=error.may_pass) from error


@contextmanager
def _ending(field: str, storage: StorageSpec) -> Iterator[None]:
    """Let errors of a store end the command; `field`: the field of the manifest that has it."""
    try:
        yield
    except StorageError as error:
        if error.code in WRONG_KEYS:
            at = field if storage.secret_name is None else f"{field}.secretName"
            raise CommandError(f"{at}: {error}", Exit.INVALID) from error
        may_pass = error.retriable and error.code not in (PLAIN_SERVER, TLS_SERVER)
        raise UnreachableError(f"{field}: {error}", may_pass=may_pass) from error


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
