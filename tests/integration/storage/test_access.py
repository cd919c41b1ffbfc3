"""Reaching the storage: checks, credentials, processes."""

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from logpersister.storage import probe
from logpersister.storage.errors import REFUSALS, StorageError
from logpersister.storage.store import ObjectStore
from tests.integration.harness import deviations
from tests.integration.harness.secured import SecuredMinio
from tests.integration.storage.writing import (
    FACTS,
    GROUP,
    PART,
    MakeStore,
    begin,
    content,
    key_of,
    keys,
    write_in_pieces,
)
from tests.stack import MinioServer
from tests.stack.fault_proxy import Answer, Fault, FaultProxy, Stall
from tests.stack.tls import Certificates

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

PROOF_SECONDS = 60.0
"""For a machine that does other things besides."""
_LOOKING = {"conditional_writes": False}
_SIGNED = {"checksums": "when_required"}


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
    assert time.monotonic() - before < 20
    assert caught.value.kind == "timeout"
    assert s3_proxy.endpoint in str(caught.value)


def test_check_waits_for_a_storage_that_starts_at_the_same_time(make_store: MakeStore, s3_proxy: FaultProxy) -> None:
    s3_proxy.inject(Answer(times=2, code="XMinioServerNotInitialized"))
    make_store(endpoint=s3_proxy.endpoint).check(GROUP, deadline=15)


@pytest.mark.parametrize(
    ("deviates", "found", "changes"),
    [
        (deviations.refuses_conditions, r"501 NotImplemented.*set spec\.storage\.conditionalWrites: false:", _LOOKING),
        (deviations.ignores_conditions, r"ignores If-None-Match: \* on a put.*conditionalWrites: false:", _LOOKING),
        (deviations.ignores_conditions_on_completion, r"on the completion of.*conditionalWrites: false:", _LOOKING),
        (
            deviations.refuses_checksums,
            r"set spec\.storage\.checksums: when_required: with it",
            _SIGNED,
        ),
        (
            deviations.wants_objects_for_the_owner,
            r"explicit deny.*set spec\.storage\.acl: bucket-owner-full-control: with it",
            {"acl": "bucket-owner-full-control"},
        ),
        (deviations.lists_late, "a listing does not show an object that was just put.*use the primary", None),
    ],
)
def test_check_proves_what_the_guarantees_assume_and_names_the_setting_that_helps(
    make_store: MakeStore,
    minio: MinioServer,
    s3_proxy: FaultProxy,
    s3: "S3Client",
    bucket: str,
    deviates: Callable[[MinioServer], Fault],
    found: str,
    changes: Mapping[str, Any] | None,
) -> None:
    s3_proxy.inject(deviates(minio))
    with pytest.raises(StorageError, match=found) as caught:
        make_store(endpoint=s3_proxy.endpoint).check(GROUP, deadline=PROOF_SECONDS)
    assert (caught.value.kind in REFUSALS, caught.value.retriable) == (True, False)
    if changes is not None:
        store = make_store(endpoint=s3_proxy.endpoint, **changes)
        store.check(GROUP, deadline=PROOF_SECONDS)
        for number, size in enumerate([1000, 2 * PART]):  # a put, and an upload in parts
            for expected in (False, True):
                writer = begin(store, number, if_absent=True)
                write_in_pieces(writer, content(size))
                assert writer.finish(FACTS).existing is expected
        assert [key for key in keys(s3, bucket) if "probe" in key] == []
    assert s3.list_multipart_uploads(Bucket=bucket).get("Uploads", []) == []


def test_objects_are_deleted_one_by_one_where_many_at_once_are_refused(
    make_store: MakeStore, minio: MinioServer, s3_proxy: FaultProxy, s3: "S3Client", bucket: str
) -> None:
    store = make_store(endpoint=s3_proxy.endpoint)
    assert store.check(GROUP, PROOF_SECONDS) == []
    s3_proxy.inject(refused := deviations.refuses_deletes_of_many(minio))
    assert store.check(GROUP, PROOF_SECONDS) == [probe.ONE_BY_ONE]
    names = [f"raw/{number}.json" for number in range(20)]
    for name in names:
        store.put_json(name, {})
    met = refused.met
    for some in (names[:10], names[10:]):
        store.delete_all(some)
    assert (keys(s3, bucket), refused.met) == ([], met + 1), "found out once"


def test_signed_bodies_are_asked_for_by_a_policy_and_a_rotated_authority_is_trusted(
    make_store: MakeStore, tmp_path: Path, secrets_dir: Path
) -> None:
    """On https the SDK leaves bodies unsigned, and so do our own puts."""
    with SecuredMinio(tmp_path / "signed") as secured:
        secured.write_secret(secrets_dir, "signed")
        secured.client().create_bucket(Bucket="signed")
        everything = {"Action": ["s3:*"], "Resource": ["arn:aws:s3:::*"]}
        unsigned = {"StringEquals": {"s3:x-amz-content-sha256": "UNSIGNED-PAYLOAD"}}
        allowed = {"Effect": "Allow", **everything}, {"Effect": "Deny", **everything, "Condition": unsigned}
        for key, value in secured.keys_for(*allowed).items():
            (secrets_dir / "signed" / key).write_text(value)
        place = {"bucket": "signed", "endpoint": secured.endpoint, "secret_name": "signed", "ca_secret_name": "signed"}
        with pytest.raises(StorageError, match=r"AccessDenied.*set spec\.storage\.checksums: when_required: with it"):
            make_store(**place).check(GROUP, PROOF_SECONDS)
        make_store(**place, checksums="when_required").check(GROUP, PROOF_SECONDS)

        authority = secrets_dir / "signed" / "ca.crt"
        authority.write_bytes(Certificates(tmp_path / "other").authority.read_bytes())
        store = make_store(**place, checksums="when_required")
        for _ in range(2):  # the second time with the new Secret already, of which the next connection hears
            with pytest.raises(StorageError) as refused:
                store.put_json("raw/x.json", {})
            assert refused.value.kind == "unreachable"
            authority.write_bytes(secured.certificates.authority.read_bytes())
        store.put_json("raw/x.json", {})


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
