"""``spec.storage``: the bucket, and how to reach it."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Final, Literal

from pydantic import Field

from logpersister.forms.constraint import HOST, PORT, Flag, Model, SecretName, Size, Text, never
from logpersister.forms.problems import Finding
from logpersister.forms.rule import refuses

RESERVED_FOLDER = "_logpersister"
"""Folder below the prefix where revisions and facts are kept; no user's path may be in it."""

MOST_COPIES: Final = 4
"""Further stores of one manifest."""

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


_AS_LISTED = "write the bucket's name as `aws s3 ls` prints it"

# docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html
BucketName = Annotated[
    str,
    Text(
        r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$",
        "is not a name that S3 allows for a bucket (3 to 63 lower-case letters, digits, - and .)",
        _AS_LISTED,
        63,
        conditions=(
            never(
                r"^.?.?$|[.][.]|^[0-9]+([.][0-9]+){3}$|^(xn--|sthree-|amzn-s3-demo-)"
                r"|(-s3alias|--ol-s3|[.]mrap|--table-s3)$",
                "is shorter than 3 characters, has two dots in a row, is an address, or is what S3 reserves for others",
                _AS_LISTED,
            ),
            never(
                r"--x-s3$",
                "is a directory bucket, whose listings are not in order",
                "use a general purpose bucket",
            ),
        ),
    ),
]
PREFIX = Text(
    r"^[A-Za-z0-9!_.*'()=/-]*$",
    "has a character that tools mistreat in object names",
    "use letters, digits and !-_.*'()=, with / between folders",
    400,
    conditions=(
        never(
            r"^/|/$|//|(^|/)[.][.]?(/|$)",
            "has a slash at an end or two in a row, or a folder named . or ..",
            "write for example raw/events",
        ),
        never(
            rf"(^|/){RESERVED_FOLDER}(/|$)",
            f"has the folder {RESERVED_FOLDER}, where logpersister keeps its own",
            "name it differently",
        ),
    ),
)
Prefix = Annotated[str, PREFIX]

Endpoint = Annotated[
    str,
    Text(
        rf"^https?://{HOST}(:{PORT})?/?$",
        "is not an http or https URL of a server",
        "write scheme, host and port only, for example http://127.0.0.1:9000",
        2000,
        before=(never("@", "has credentials in it", "put them in the Secret that secretName names"),),
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
    """`S3`: keys of the storage (SSE-S3). `KMS`: a key of the key service (SSE-KMS)."""

    key_id: KeyId | None = None
    """Id, alias or ARN of the KMS key. Default: the account's key for S3. Only with type `KMS`."""

    @refuses
    def _a_key_is_for_kms(self) -> Iterator[Finding]:
        if self.type == "S3" and self.key_id is not None:
            told = "contradicts type S3, whose keys the storage chooses"
            yield Finding(told, "set type to KMS, or remove keyId", ("keyId",))


class StorageSpec(Model):
    """Where objects go."""

    bucket: BucketName
    """Bucket for the objects. It must exist."""

    prefix: Prefix = ""
    """Folder of the bucket for everything of this resource, without slash at its ends."""

    endpoint: Endpoint | None = None
    """URL of an S3-compatible storage such as MinIO or Ceph. Leave it out for AWS."""

    region: Region | None = None
    """Region of the bucket. Default: from the AWS SDK's chain (`AWS_REGION`, profile, instance), `us-east-1` with an
    `endpoint`."""

    secret_name: SecretName | None = None
    """Secret with `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and optionally `AWS_SESSION_TOKEN`. Default: the AWS
    SDK's chain."""

    path_style: Flag | None = None
    """Whether requests have the bucket in the path instead of the host name. Default: true with an `endpoint`, false
    without."""

    storage_class: StorageClass | None = None
    """Storage class of new files. Default: the bucket's. `STANDARD_IA` and colder classes bill a minimum size and time
    per object."""

    encryption: EncryptionSpec | None = None
    """Server-side encryption of objects. Default: the bucket's."""

    part_size: Annotated[int, Size("5Mi", "5Gi")] = 16 * 2**20
    """Size of the parts of a multipart upload; an object has at most 10,000."""

    verify_tls: Flag = True
    """Whether the certificate of an https endpoint is verified. `false` only to find out what is wrong with it."""

    ca_secret_name: SecretName | None = None
    """Secret with the key `ca.crt`: PEM of a private CA."""

    checksums: Literal["when_supported", "when_required"] = "when_supported"
    """When requests have a checksum that the storage verifies. `when_required`: for storages that refuse the SDK's
    checksums (`XAmzContentSHA256Mismatch`, `NotImplemented`), and for buckets that refuse `UNSIGNED-PAYLOAD`.
    """

    acl: Literal["bucket-owner-full-control"] | None = None
    """Canned ACL of each object, where the bucket's policy demands one of other accounts. Needs the right
    `s3:PutObjectAcl`."""

    conditional_writes: Flag = True
    """Whether puts may say `If-None-Match: *` and `If-Match`. `false`: members look before they write, which promises
    less (docs/guarantees.md#stores-without-conditional-writes).
    """

    @property
    def place(self) -> str:
        """Where objects are, ``bucket/prefix``; `at` gives the way there back."""
        return f"{self.bucket}/{self.prefix}"

    @property
    def address(self) -> str:
        """The place as people read it, ``s3://bucket/prefix``."""
        return f"s3://{self.place}".rstrip("/")

    def at(self, place: str) -> "StorageSpec":
        """Return a copy for another place, ``bucket/prefix``."""
        bucket, _, prefix = place.partition("/")
        return self.model_copy(update={"bucket": bucket, "prefix": prefix})

    @property
    def uses_path_style(self) -> bool:
        """``pathStyle`` with its default filled in."""
        return self.endpoint is not None if self.path_style is None else self.path_style

    @property
    def uses_tls(self) -> bool:
        return self.endpoint is None or self.endpoint.startswith("https:")

    @refuses
    def _aws_has_the_storage_class(self) -> Iterator[Finding]:
        if self.endpoint is None and self.storage_class is not None and self.storage_class not in _AWS_STORAGE_CLASSES:
            known = ", ".join(sorted(_AWS_STORAGE_CLASSES))
            remedy = f"write one of {known}, or set the endpoint of a storage that has this class"
            yield Finding("is not a storage class of AWS", remedy, ("storageClass",))

    @refuses
    def _certificates_are_checked_where_there_are_some(self) -> Iterator[Finding]:
        if self.ca_secret_name is not None and not self.verify_tls:
            told = "contradicts verifyTls: false, which checks nothing"
            yield Finding(told, "remove one of them", ("caSecretName",))
        for name, is_set in (("caSecretName", self.ca_secret_name is not None), ("verifyTls", not self.verify_tls)):
            if is_set and not self.uses_tls:
                told = "contradicts the http endpoint, which has no certificate"
                yield Finding(told, "use https, or remove it", (name,))


class CopiedStorageSpec(StorageSpec):
    """Where objects go, and where archives go besides."""

    copies: Annotated[tuple[StorageSpec, ...], Field(max_length=MOST_COPIES)] = ()
    """Further stores that get the archive of each finished folder, with policy `archive` of `spec.finish`. A folder is
    finished when all of them have it (docs/archives.md#copies)."""

    @property
    def stores(self) -> "Sequence[StorageSpec]":
        """The primary store, and the copies: each stands at the number that ``--store`` takes."""
        return (self, *self.copies)

    @refuses
    def _copies_are_elsewhere(self) -> Iterator[Finding]:
        for place, copy in enumerate(self.copies):
            if any(_overlap(copy, other) for other in self.stores[: place + 1]):
                told = "has a prefix that is, is in, or has in it, that of a store before it in the same bucket"
                yield Finding(told, "name another bucket, or a prefix beside that one", ("copies", place, "prefix"))


def _overlap(one: StorageSpec, other: StorageSpec) -> bool:
    """Whether a name of an object may be of both stores."""
    return (one.endpoint, one.bucket) == (other.endpoint, other.bucket) and share_names(one.prefix, other.prefix)


def share_names(one: str, other: str) -> bool:
    """Whether a prefix is another one, is in it, or has it in it; the empty one has all in it."""
    a, b = (f"{prefix}/".lstrip("/") for prefix in (one, other))
    return a.startswith(b) or b.startswith(a)
