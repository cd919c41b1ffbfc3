"""The bytes by which readers of containers that can be split find the next block."""

import hashlib

from logpersister.formats.base import ObjectIdentity


def sync_marker(identity: ObjectIdentity, use: bytes) -> bytes:
    """Return the 16 bytes that mark sync points of an object; `use` tells formats apart, in at most 16 bytes.

    Other writers take random ones, but a range that is written again must be the same.
    """
    partition = identity.range.partition
    name = f"{partition.topic}\0{partition.partition}\0{identity.range.start}\0{identity.path}"
    return hashlib.blake2b(name.encode(), digest_size=16, person=use).digest()
