"""``spec.output.archive``."""

from typing import Literal

from logpersister.forms.constraint import Model


class ArchiveSpec(Model):
    """Tar archives with a file for each record, named by key, time and content."""

    compression: Literal["gzip", "zstd", "xz", "none"] = "gzip"
    """Compression of the whole archive."""

    naming: Literal["primary", "hashed"] = "primary"
    """Name of the archive of a finished folder (policy `archive` of `spec.finish`). `primary`: the same for all its
    versions. `hashed`: with a hash of its content."""

    @property
    def tombstones(self) -> Literal["skip"]:
        return "skip"
