"""``spec.output.archive``."""

from typing import Annotated, Final, Literal

from logpersister.forms.constraint import Check, Model, Text, must, never

USUAL_NAME: Final = "{feed}_{time}_{hash}{postfix}"
LONGEST_TEMPLATE: Final = 60
"""Characters: with the longest key, time, hash and postfix a name is one that each file system takes."""

_REMEDY: Final = f"write for example {USUAL_NAME}"


def _once(part: str) -> Check:
    told = f"does not have {part} once, without which two records may have one name"
    return must(lambda text: text.count(part) == 1, told, _REMEDY)


FileName = Annotated[
    str,
    Text(
        r"^([A-Za-z0-9]|[{](feed|time|hash)[}])([A-Za-z0-9._-]|[{](feed|time|hash|postfix)[}])*$",
        "is not a template of file names (letters, digits, ., _, -, {feed}, {time}, {hash}, {postfix})",
        _REMEDY,
        LONGEST_TEMPLATE,
        conditions=(
            _once("{time}"),
            _once("{hash}"),
            never(r"[{]feed[}].*[{]feed[}]", "has {feed} twice", "remove one of them"),
            never(r"[{]postfix[}].*[{]postfix[}]", "has {postfix} twice", "remove one of them"),
        ),
    ),
]


class ArchiveSpec(Model):
    """Tar archives with a file for each record, named by key, time and content."""

    compression: Literal["gzip", "zstd", "xz", "none"] = "gzip"
    """Compression of the whole archive."""

    naming: Literal["primary", "hashed"] = "primary"
    """Name of the archive of a finished folder (policy `archive` of `spec.finish`). `primary`: the same for all its
    versions. `hashed`: with a hash of its content."""

    file_name: FileName = USUAL_NAME
    """Names of the files in it: `{feed}` is the record's key, `{time}` its time, `{hash}` that of its content,
    `{postfix}` the header of that name (docs/archives.md#files). Without `{feed}`, folders must be by key."""

    @property
    def tombstones(self) -> Literal["skip"]:
        return "skip"
