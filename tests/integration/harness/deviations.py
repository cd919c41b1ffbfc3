"""S3 servers that deviate: faults of a proxy before a real one."""

from collections.abc import Callable
from datetime import UTC, datetime

from botocore.credentials import Credentials

from logpersister.storage.lean import signed_headers
from tests.stack import MinioServer
from tests.stack.fault_proxy import Answer, Fault, Rewrite

_CONDITION = "if-none-match"


def refuses_conditions(_: MinioServer) -> Fault:
    """Answers 501, as many gateways do."""
    told = "A header you provided implies functionality that is not implemented"
    return Answer(times=None, headers=_has(_CONDITION), status=501, code="NotImplemented", message=told)


def ignores_conditions(minio: MinioServer) -> Fault:
    def without(path: str, headers: dict[str, str]) -> str:
        del headers[_CONDITION]
        return path

    return Rewrite(times=None, headers=_has(_CONDITION), change=_signed_again(minio, without))


def ignores_conditions_on_completion(minio: MinioServer) -> Fault:
    fault = ignores_conditions(minio)
    fault.matches = lambda line: line.startswith("POST")
    return fault


def refuses_deletes_of_many(_: MinioServer) -> Fault:
    """Wants a header that the SDK does not send any more, as Google Cloud Storage and older Ceph do."""
    return Answer(times=None, matches=lambda line: "?delete" in line, status=400, code="MissingContentMD5")


def refuses_checksums(_: MinioServer) -> Fault:
    return Answer(times=None, headers=_has("x-amz-checksum-crc32"), status=400, code="XAmzContentSHA256Mismatch")


def wants_objects_for_the_owner(_: MinioServer) -> Fault:
    """Has a policy for writers from other accounts."""
    given = _has("x-amz-acl: bucket-owner-full-control")
    return Answer(
        times=None,
        matches=lambda line: (line.startswith("PUT") and "partNumber" not in line) or "?uploads" in line,
        headers=lambda headers: not given(headers),
        status=403,
        code="AccessDenied",
        message="explicit deny in a resource-based policy",
    )


def lists_late(minio: MinioServer) -> Fault:
    """Shows no object that was just put."""

    def elsewhere(path: str, _: dict[str, str]) -> str:
        return path.replace("probe.", "nothing.")

    is_listing = lambda line: "list-type=2" in line and "probe." in line  # noqa: E731
    return Rewrite(times=None, matches=is_listing, change=_signed_again(minio, elsewhere))


def _has(header: str) -> Callable[[str], bool]:
    return lambda headers: header in headers.lower()


def _signed_again(minio: MinioServer, edit: Callable[[str, dict[str, str]], str]) -> Callable[[bytes], bytes]:
    """Return what edits a request (path, and signed headers in place) and signs it, as the server would not take it."""

    def change(head: bytes) -> bytes:
        line, *lines = head.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
        method, path, version = line.split(" ")
        sent = {name.lower(): value.strip() for name, _, value in (one.partition(":") for one in lines)}
        authorization = sent.pop("authorization")
        signed = {
            name: sent.pop(name) for name in authorization.partition("SignedHeaders=")[2].split(",")[0].split(";")
        }
        path = edit(path, signed)
        keys = Credentials(minio.access_key, minio.secret_key)
        payload, now = signed.pop("x-amz-content-sha256"), f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
        url = f"http://{signed['host']}{path}"
        signed = signed_headers(method, url, signed, payload, keys, minio.region, now)
        headers = [f"{name}: {value}" for name, value in {**sent, **signed}.items()]
        return "\r\n".join([f"{method} {path} {version}", *headers, "", ""]).encode("latin-1")

    return change
