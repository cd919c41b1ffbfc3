"""Errors of a table, in few stable words."""

from typing import Final, Literal

TableReason = Literal[
    "unavailable",
    "unauthorized",
    "conflict",
    "no-table",
    "other-owner",
    "other-table",
    "schema",
    "partition-spec",
    "format-version",
    "rolled-back",
    "unreadable",
    "gap",
    "overlap",
    "refused",
    "location",
    "file-format",
    "behind",
    "rewritten",
    "no-receipts",
]
"""Reasons, for people and tests:

``unavailable``     the catalog does not answer, or fails
``unauthorized``    it refuses the login
``conflict``        others were faster, again and again
``no-table``        the table is not there, and must not be created
``other-owner``     the table is that of another topic, type or group
``other-table``     a table of this name was made anew, and files were written for the one before
``schema``          its columns cannot become what files have
``partition-spec``  it is not partitioned by the folders
``format-version``  it is of another version of Iceberg's format
``rolled-back``     somebody has set it back to a snapshot before our last one
``unreadable``      what its snapshots say of offsets is not what we write
``gap``             stored offsets have no receipt
``overlap``         a receipt has rows that the table has already
``refused``         a metastore refuses a request
``location``        a Hive table is not over the folder of its topic
``file-format``     a Hive table is of files of another format
``behind``          it lacks rows that a switch would take out, and that would be appended afterwards
``rewritten``       others have written files that may have rows which a switch is about
``no-receipts``     a replay has left no receipts of what a switch would put in
"""

_MOST_SAID: Final = 500


class TableError(Exception):
    """Why nothing can be done with a table now; the message names table, cause and remedy."""

    def __init__(self, reason: TableReason, message: str) -> None:
        super().__init__(message)
        self.reason = reason

    @property
    def is_of_catalog(self) -> bool:
        """Whether the catalog is of no use, and not only this table."""
        return self.reason in ("unavailable", "unauthorized")

    @property
    def retriable(self) -> bool:
        """Whether it may pass without a person."""
        return self.reason in ("unavailable", "conflict", "refused")


def short(said: object) -> str:
    """Return somebody else's words, in one line and not too many."""
    return " ".join(str(said).split())[:_MOST_SAID]
