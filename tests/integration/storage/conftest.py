"""Stores on a bucket of each test."""

from collections.abc import Iterator
from typing import Any

import pytest

from logpersister.manifest.blocks.storage import StorageSpec
from logpersister.manifest.secrets import Secrets
from logpersister.storage.connection import Timeouts
from logpersister.storage.store import ObjectStore, open_store
from tests.integration.storage.writing import MakeStore, Retries
from tests.stack import MinioServer

PATIENT = Timeouts(connect=2, read=5, attempts=4)


@pytest.fixture
def retries() -> Retries:
    return Retries()


@pytest.fixture
def make_store(minio: MinioServer, bucket: str, s3_secret: str, retries: Retries) -> Iterator[MakeStore]:
    stores: list[ObjectStore] = []

    def make(*, timeouts: Timeouts = PATIENT, **changes: Any) -> ObjectStore:
        settings = {
            "bucket": bucket,
            "prefix": "raw",
            "endpoint": minio.endpoint,
            "secret_name": s3_secret,
            "part_size": "5Mi",
            **changes,
        }
        store = open_store(StorageSpec(**settings), Secrets(), on_retry=retries, timeouts=timeouts)
        stores.append(store)
        return store

    yield make
    for store in stores:
        store.close()


@pytest.fixture
def store(make_store: MakeStore) -> ObjectStore:
    return make_store()
