"""What `logpersister check` says of the bucket, and of its copies."""

from collections.abc import Iterator

from logpersister.cli import bucket, taken
from logpersister.cli.check.finding import Finding, tell_or_refuse
from logpersister.manifest import LogPersister
from logpersister.manifest.blocks.storage import StorageSpec
from logpersister.manifest.secrets import Secrets
from logpersister.storage.copies import open_copies


def copy_findings(number: int, resource: LogPersister, secrets: Secrets, seconds: float) -> Iterator[Finding]:
    """Yield what is to be said of a copy of the bucket; `number`: from 1."""
    with open_copies(resource.spec.storage, secrets) as copies, bucket.using(copies[number - 1]) as store:
        what = "; ".join(["can be read and written", *store.check(resource.group_id, seconds)])
    yield Finding(f"copy {number}", "ok", f"{_where(store.storage)}: {what}")


def bucket_findings(resource: LogPersister, secrets: Secrets, seconds: float, *, refuses: bool) -> Iterator[Finding]:
    storage = resource.spec.storage
    with bucket.opened(resource, secrets) as store:
        what = "; ".join(["can be read and written", *store.check(resource.group_id, seconds)])
        problems = list(taken.prefix_problems(resource, store))
    yield Finding("bucket", "ok", f"{_where(storage)}: {what}")
    if not storage.conditional_writes:
        told = (
            "spec.storage.conditionalWrites: false: members look before they write, which is not atomic "
            "(docs/guarantees.md#stores-without-conditional-writes)"
        )
        yield Finding("bucket", "warning", told)
    yield from tell_or_refuse("bucket", problems, refuses=refuses)


def _where(storage: StorageSpec) -> str:
    return f"{storage.address} at {storage.endpoint or 'AWS'}"
