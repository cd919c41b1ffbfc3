"""``spec.storage``: the bucket, and how to reach it."""

import ipaddress
from collections.abc import Iterator
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import model_validator

from logpersister.manifest.constraint import Flag, Model, SecretName, Size, Text
from logpersister.manifest.problems import Finding, refuse, refuse_all

RESERVED_FOLDER = "_logpersister"
"""Folder below the prefix where revisions and facts are kept; no user's path may be in it."""

MAX_PARTS = 10_000
"""Parts that one multipart upload of S3 can have."""

_AWS_STORAGE_CLASSES = frozenset(
    [
        "STANDARD",
        "REDUCED_REDUNDANCY",
        "STANDARD_IA",
        "ONEZONE_IA",
        "INTELLIGENT_TIERING",
        "GLACIER",
        "GLACIER_IR",
        "DEEP_ARCHIVE",
        "OUTPOSTS",
        "SNOW",
    ]
)


def _check_bucket(name: str) -> None:
    """Check what no pattern can say (docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html)."""
    remedy = "write the bucket's name as `aws s3 ls` prints it"
    if len(name) < 3:
        raise refuse("is shorter than 3 characters", remedy)
    if ".." in name:
        raise refuse("has two dots in a row, which no bucket has", remedy)
    try:
        ipaddress.IPv4Address(name)
    except ValueError:
        pass
    else:
        raise refuse("is an address, which no bucket may be named", remedy)
    for prefix in ("xn--", "sthree-", "amzn-s3-demo-"):
        if name.startswith(prefix):
            raise refuse(f"begins with {prefix}, which S3 reserves", remedy)
    if name.endswith("--x-s3"):
        raise refuse("is a directory bucket, whose listings are not in order", "use a general purpose bucket")
    for suffix in ("-s3alias", "--ol-s3", ".mrap", "--table-s3"):
        if name.endswith(suffix):
            raise refuse(f"ends with {suffix}, which S3 reserves", "name the bucket itself, not an alias of it")


def _check_prefix(prefix: str) -> None:
    if prefix.startswith("/"):
        raise refuse("begins with a slash, which would make a folder without a name", "write it without: raw")
    if prefix.endswith("/"):
        raise refuse("ends with a slash, which is added anyway", "write it without: raw")
    folders = prefix.split("/") if prefix else []
    if "" in folders:
        raise refuse("has two slashes in a row", "write one: raw/events")
    if "." in folders or ".." in folders:
        raise refuse("has a folder named . or .., which tools resolve", "write the folder's name")
    if RESERVED_FOLDER in folders:
        raise refuse(f"has the folder {RESERVED_FOLDER}, where logpersister keeps its own", "name it differently")


def _check_endpoint(endpoint: str) -> None:
    remedy = "write scheme, host and port only, for example http://127.0.0.1:9000"
    try:
        url = urlsplit(endpoint)
        port = url.port
    except ValueError:
        raise refuse("is not a URL", remedy) from None
    if url.username is not None or url.password is not None or "@" in endpoint:
        raise refuse("has credentials in it", "put them in the Secret that secretName names")
    if url.scheme not in ("http", "https") or not url.hostname:
        raise refuse("is not an http or https URL", remedy)
    if url.path not in ("", "/") or url.query or url.fragment:
        raise refuse("has more than scheme, host and port", f"{remedy}; the bucket has a field of its own")
    if port == 0:
        raise refuse("has port 0", remedy)


BucketName = Annotated[
    str,
    Text(
        r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$",
        "is not a name that S3 allows for a bucket (3 to 63 lower-case letters, digits, - and .)",
        "write the bucket's name as `aws s3 ls` prints it",
        63,
        _check_bucket,
    ),
]
Prefix = Annotated[
    str,
    Text(
        r"^[A-Za-z0-9!_.*'()=/-]*$",
        "has a character that tools mistreat in object names",
        "use letters, digits and !-_.*'()=, with / between folders",
        400,
        _check_prefix,
    ),
]
Endpoint = Annotated[
    str,
    Text(
        r"^https?://\S+$",
        "is not an http or https URL",
        "write scheme, host and port only, for example http://127.0.0.1:9000",
        2000,
        _check_endpoint,
    ),
]
Region = Annotated[
    str,
    Text(
        r"^[A-Za-z0-9][A-Za-z0-9-]*$",
        "is not a region",
        "write it as the storage names it, for example eu-central-1",
        64,
    ),
]
StorageClass = Annotated[
    str,
    Text(
        r"^[A-Za-z0-9_-]+$", "is not a storage class", "write it as the storage names it, for example STANDARD_IA", 64
    ),
]
KeyId = Annotated[
    str,
    Text(
        r"^[A-Za-z0-9:/_-]+$",
        "is not the id, alias or ARN of a KMS key",
        "write it as `aws kms list-keys` prints it",
        2048,
    ),
]


class EncryptionSpec(Model):
    """Server-side encryption that objects ask for."""

    type: Literal["S3", "KMS"]
    """`S3`: with keys of the storage (SSE-S3). `KMS`: with a key of the key service (SSE-KMS). Without `encryption` the
    bucket's own default applies, which is what most want."""

    key_id: KeyId | None = None
    """Id, alias or ARN of the KMS key; without it the account's own key for S3. Only with type `KMS`."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.type == "S3" and self.key_id is not None:
            raise refuse(
                "contradicts type S3, whose keys the storage chooses", "set type to KMS, or remove keyId", "keyId"
            )
        return self


class StorageSpec(Model):
    """Where objects go."""

    bucket: BucketName
    """Bucket that takes the objects. It must exist."""

    prefix: Prefix = ""
    """Folder of the bucket for everything of this resource, without slashes at its ends. Resources may share a
    prefix when their topics differ."""

    endpoint: Endpoint | None = None
    """URL of a storage that speaks S3, such as MinIO or Ceph. Leave it out for AWS."""

    region: Region | None = None
    """Region of the bucket. Default: that of the AWS SDK's own chain (`AWS_REGION`, profile, instance), `us-east-1`
    with an `endpoint`."""

    secret_name: SecretName | None = None
    """Secret with the keys `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and perhaps `AWS_SESSION_TOKEN`. Leave it
    out to use the SDK's own chain: web identity, instance role, environment."""

    path_style: Flag | None = None
    """Whether the bucket is in the path of requests instead of the host name. Default: true with an `endpoint`, false
    without. Set it to false for a storage that wants host names."""

    storage_class: StorageClass | None = None
    """Storage class of new objects, the bucket's default without. `STANDARD_IA` and colder have a price per object
    and a shortest time: mind the size of files."""

    encryption: EncryptionSpec | None = None
    """Server-side encryption that objects ask for; without it the bucket's default applies."""

    part_size: Annotated[int, Size("5Mi", "5Gi")] = 16 * 2**20
    """Size of the parts of a multipart upload; smaller objects are a single request. Larger: fewer requests, and
    more memory (each task buffers a few parts). An object has at most 10,000 parts."""

    verify_tls: Flag = True
    """Whether the certificate of an https endpoint is checked. False only while you find out what is wrong with it."""

    ca_secret_name: SecretName | None = None
    """Secret with the key `ca.crt`: PEM of the authority that signed the endpoint's certificate, when it is not a
    public one. May be the same Secret as `secretName`."""

    checksums: Literal["when_supported", "when_required"] = "when_supported"
    """When requests carry a checksum that the storage checks. `when_required` for storages that refuse the SDK's
    checksums (errors such as `XAmzContentSHA256Mismatch` or `NotImplemented`)."""

    @property
    def uses_path_style(self) -> bool:
        """``pathStyle`` with its default filled in."""
        return self.endpoint is not None if self.path_style is None else self.path_style

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        refuse_all(list(self._contradictions()))
        return self

    def _contradictions(self) -> Iterator[Finding]:
        if self.endpoint is None and self.storage_class is not None and self.storage_class not in _AWS_STORAGE_CLASSES:
            yield Finding(
                "is not a storage class of AWS",
                f"write one of {', '.join(sorted(_AWS_STORAGE_CLASSES))}, or set the endpoint of what has it",
                ("storageClass",),
                f'"{self.storage_class}"',
            )
        https = self.endpoint is None or self.endpoint.startswith("https:")
        if not https and self.ca_secret_name is not None:
            yield Finding(
                "contradicts the http endpoint, which has no certificate", "use https, or remove it", ("caSecretName",)
            )
        if not https and not self.verify_tls:
            yield Finding(
                "contradicts the http endpoint, which has no certificate",
                "use https, or remove it",
                ("verifyTls",),
                "false",
            )
        if not self.verify_tls and self.ca_secret_name is not None:
            yield Finding("contradicts verifyTls: false, which checks nothing", "remove one of them", ("caSecretName",))
