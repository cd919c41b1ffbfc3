"""Whether the disk has room: S3 servers refuse to write below one percent, and then every test fails."""

import shutil
import tempfile
from pathlib import Path

from tests.stack.server import ServerError

LEAST_SHARE = 0.02
"""Of the disk that must be free. MinIO and SeaweedFS stop at 0.01; a run of the tests writes a few GB meanwhile."""


class NoRoomError(ServerError):
    """There is too little room for an S3 server; the message says where, how much is needed, and what can go."""


def require_room(directory: Path) -> None:
    """Raise `NoRoomError` unless the disk of a directory, which need not exist yet, has room."""
    existing = next(one for one in (directory, *directory.absolute().parents) if one.exists())
    usage = shutil.disk_usage(existing)
    needed = int(LEAST_SHARE * (usage.used + usage.free))  # what is reserved for root counts for neither, as in `df`
    if usage.free < needed:
        raise NoRoomError(
            f"the disk of {existing} has {usage.free:,} bytes free, and {needed:,} are needed ({LEAST_SHARE:.0%}): S3 "
            f"servers refuse to write on a disk that is full. Make room, for example delete what former runs have left "
            f"in {tempfile.gettempdir()}/pytest-of-* and .cache/chaos (docs/debugging.md)"
        )
