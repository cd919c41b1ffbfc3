"""Checks whether object names may exceed S3's limit, before a value of a record makes one so. Pure.

A range with such a name can never be stored, so its partition would stand still.
"""

from collections.abc import Iterator
from typing import Final

from logpersister.formats.registry import format_of
from logpersister.manifest import LogPersister
from logpersister.manifest.blocks.partition_rule import PartitionRule
from logpersister.manifest.spec import Spec
from logpersister.records.escaping import late_path
from logpersister.records.field_paths import MOST_BYTES
from logpersister.storage.names import facts_key, object_key, replay_extension

_ESCAPED: Final = 12
"""Characters that one character of text becomes at most: four bytes of UTF-8, each percent-encoded."""
_OF_NUMBERS: Final = 20
"""Characters of a time, an offset or a bucket at most."""
_PARTITION: Final = 10**6
_GENERATION: Final = 2**31 - 1
_OFFSET: Final = 10**19
_REPLAY: Final = "0" * 12
_ATTEMPT: Final = "0" * 16


def may_be_too_long(resource: LogPersister, topic: str) -> bool:
    """Return whether an object of a topic, or the document beside it, may have a longer name than S3 takes."""
    spec = resource.spec.for_topic(topic)
    prefix = spec.storage.prefix
    for path, extension in _longest(spec):
        try:
            key = object_key(
                prefix, topic, path, _GENERATION, _PARTITION, _OFFSET, replay_extension(_REPLAY, extension)
            )
            facts_key(prefix, resource.group_id, key, _ATTEMPT)
        except ValueError:
            return True
    return False


def _longest(spec: Spec) -> Iterator[tuple[str, str]]:
    """Yield the longest path of folders for each way in which records are written, with the extension of files."""
    of_type = [] if spec.types is None else [spec.types.prefix + "x" * MOST_BYTES]
    for one in spec.of_types():
        path = "/".join([*of_type, *map(_longest_folder, one.output.partition_by)])
        yield late_path(path) if path and spec.finish is not None else path, format_of(one).extension


def _longest_folder(level: PartitionRule) -> str:
    length = _OF_NUMBERS
    if level.field is not None or level.lower is not None:
        length = MOST_BYTES
    elif level.truncate is not None:
        length = max(length, min(MOST_BYTES, _ESCAPED * level.truncate.width))
    return level.folder_prefix + "x" * length
