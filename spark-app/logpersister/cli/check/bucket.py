"""What `logpersister check` says of the bucket."""

from collections.abc import Iterator

from logpersister.cli import bucket, taken
from logpersister.cli.check.finding import Finding, tell_or_refuse
from logpersister.manifest import LogPersister
from logpersister.manifest.secrets import Secrets


def bucket_findings(resource: LogPersister, secrets: Secrets, seconds: float, *, refuses: bool) -> Iterator[Finding]:
    storage = resource.spec.storage
    with bucket.opened(resource, secrets) as store:
        what = "; ".join(["can be read and written", *store.check(resource.group_id, seconds)])
        problems = list(taken.prefix_problems(resource, store))
    where = f"s3://{storage.bucket}/{storage.prefix}".rstrip("/")
    yield Finding("bucket", "ok", f"{where} at {storage.endpoint or 'AWS'}: {what}")
    if not storage.conditional_writes:
        told = (
            "spec.storage.conditionalWrites: false: members look before they write, which is not atomic "
            "(docs/guarantees.md#stores-without-conditional-writes)"
        )
        yield Finding("bucket", "warning", told)
    yield from tell_or_refuse("bucket", problems, refuses=refuses)
