"""Reaching the storage: checks, credentials, processes."""

import os
import pickle
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from logpersister.storage.errors import StorageError
from logpersister.storage.store import ObjectStore
from tests.integration.harness.secured import SecuredMinio
from tests.integration.storage.writing import (
    FACTS,
    GROUP,
    MakeStore,
    begin,
    key_of,
    keys,
)
from tests.stack import MinioServer
from tests.stack.fault_proxy import Answer, FaultProxy, Stall

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


def test_check_finds_a_usable_bucket_and_leaves_nothing(store: ObjectStore, s3: "S3Client", bucket: str) -> None:
    store.check(GROUP, deadline=15)
    assert keys(s3, bucket) == []


@pytest.mark.parametrize(
    ("changes", "kind", "text"),
    [
        ({"bucket": "no-such-bucket-here"}, "missing-bucket", "the bucket does not exist.*create it"),
        ({"endpoint": "http://127.0.0.1:9"}, "unreachable", "127.0.0.1:9.*connection refused.*spec.storage.endpoint"),
        ({"endpoint": "http://no-such-host.invalid:9000"}, "unreachable", "no-such-host.invalid"),
        ({"secret_name": "wrong"}, "unauthorized", "secret key does not belong to the access key id 'logpersister'"),
        ({"secret_name": "unknown"}, "unauthorized", "does not know the access key id 'nobody'.*AWS_ACCESS_KEY_ID"),
        ({"secret_name": "nowhere"}, "unauthorized", "the Secret nowhere"),
    ],
)
def test_check_says_what_is_wrong_and_what_to_do(
    make_store: MakeStore, secrets_dir: Path, changes: Mapping[str, str], kind: str, text: str
) -> None:
    for name, key_id in (("wrong", "logpersister"), ("unknown", "nobody")):
        secret = secrets_dir / name
        secret.mkdir()
        (secret / "AWS_ACCESS_KEY_ID").write_text(key_id)
        (secret / "AWS_SECRET_ACCESS_KEY").write_text("my-very-secret-key")
    with pytest.raises(Exception, match=text) as caught:
        make_store(**changes).check(GROUP, deadline=5)
    assert getattr(caught.value, "kind", "unauthorized") == kind
    assert "my-very-secret-key" not in str(caught.value)


def test_check_tells_tls_from_plain_http(
    make_store: MakeStore, minio: MinioServer, tmp_path: Path, secrets_dir: Path
) -> None:
    with pytest.raises(StorageError, match=r"endpoint is https, and the server there speaks plain http.*write http://"):
        make_store(endpoint=minio.endpoint.replace("http:", "https:")).check(GROUP, deadline=5)
    with SecuredMinio(tmp_path / "secured") as secured:
        plain = make_store(endpoint=secured.endpoint.replace("https:", "http:"))
        with pytest.raises(StorageError, match=r"endpoint is http, and the server there speaks TLS only.*write https:"):
            plain.check(GROUP, deadline=5)


def test_check_ends_at_its_deadline_when_nobody_answers(make_store: MakeStore, s3_proxy: FaultProxy) -> None:
    s3_proxy.inject(Stall(times=None))
    before = time.monotonic()
    with pytest.raises(StorageError, match="did not answer in time") as caught:
        make_store(endpoint=s3_proxy.endpoint).check(GROUP, deadline=1.5)
    assert time.monotonic() - before < 4
    assert caught.value.kind == "timeout"
    assert s3_proxy.endpoint in str(caught.value)


def test_check_waits_for_a_storage_that_starts_at_the_same_time(make_store: MakeStore, s3_proxy: FaultProxy) -> None:
    s3_proxy.inject(Answer(times=2, code="XMinioServerNotInitialized"))
    make_store(endpoint=s3_proxy.endpoint).check(GROUP, deadline=15)


def test_rotated_credentials_are_read_again(make_store: MakeStore, minio: MinioServer, secrets_dir: Path) -> None:
    secret = secrets_dir / "rotated"
    secret.mkdir()
    (secret / "AWS_ACCESS_KEY_ID").write_text("old")
    (secret / "AWS_SECRET_ACCESS_KEY").write_text("old-secret-key")
    store = make_store(secret_name="rotated")
    with pytest.raises(StorageError) as caught:
        store.put_json("raw/x.json", {})
    assert caught.value.kind == "unauthorized"
    minio.write_secret(secrets_dir, "rotated2")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        (secret / name).write_text((secrets_dir / "rotated2" / name).read_text())
    with pytest.raises(StorageError):
        store.put_json("raw/x.json", {})
    store.put_json("raw/x.json", {})


def test_a_store_works_in_a_forked_process_and_after_closing(store: ObjectStore) -> None:
    store.put_json("raw/x.json", {"by": "parent"})
    child = os.fork()
    if child == 0:  # pragma: no cover - another process
        try:
            writer = begin(store, 0)
            writer.write(b"by child")
            writer.finish(FACTS)
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert store.metadata(key_of(0)) is not None
    store.close()
    assert store.get_json("raw/x.json") == {"by": "parent"}


def test_a_store_is_never_pickled(store: ObjectStore) -> None:
    with pytest.raises(TypeError, match="must not be pickled"):
        pickle.dumps(store)
