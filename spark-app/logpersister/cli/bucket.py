"""Reaching the bucket with a deadline, and with errors that end a command as they should."""

import argparse
import os
from collections.abc import Iterator
from contextlib import contextmanager

from logpersister.cli.exits import CommandError, Exit, UnreachableError
from logpersister.manifest import LogPersister
from logpersister.manifest.secrets import Secrets
from logpersister.storage.connection import Timeouts
from logpersister.storage.errors import PLAIN_SERVER, TLS_SERVER, WRONG_KEYS, StorageError
from logpersister.storage.store import ObjectStore, open_store


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
