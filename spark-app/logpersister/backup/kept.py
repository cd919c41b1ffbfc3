"""What objects of a group keep of records, and what another output needs of them: which can be made of which. Pure.

Format ``kafka`` keeps everything. Another format is a backup, too, where its objects have each record as it was: any
bytes as values, no folders, nothing left out. An object in which a record has no place (a null value, say) has a flaw,
which its facts tell, so it is known before it is read.
"""

from collections.abc import Iterator
from typing import Final, Literal, get_args

from logpersister.formats.compression import EXTENSIONS, Compression
from logpersister.formats.kafka.write import EXTENSION
from logpersister.manifest.blocks.keep import header_conditions
from logpersister.manifest.spec import Spec
from logpersister.storage.facts import ObjectFacts

Part = Literal["key", "timestamp", "headers"]
PARTS: Final[tuple[Part, ...]] = ("key", "timestamp", "headers")
_LINES: Final = tuple(EXTENSIONS[compression] for compression in get_args(Compression))
_EXTENSIONS: Final = {
    "kafka": frozenset([EXTENSION]),
    "jsonl": frozenset(".jsonl" + one for one in _LINES),
    "sequencefile": frozenset([".seq"]),
    "text": frozenset(".txt" + one for one in _LINES),
}
"""Endings of objects, by formats that can be a backup."""


def extensions(backup: Spec) -> frozenset[str]:
    """Return the endings of the objects that records are read back from."""
    return _EXTENSIONS.get(backup.output.format, frozenset())


def unfit(backup: Spec) -> str | None:
    """Return why a group is no backup of a topic, and what to do; None: it is one. The specs are those of the topic."""
    form = backup.output.format
    if form == "kafka":
        return None
    if form not in _EXTENSIONS:
        return f"spec.output is {form}; records are read back from {', '.join(_EXTENSIONS)}"
    if backup.value.kind != "bytes" or backup.key is not None or backup.has_types:
        return "spec.value, spec.key or spec.types makes something else of records; a backup has any bytes as they were"
    if backup.output.partition_by or backup.leaves_out:
        return (
            "spec.output.partitionBy or spec.keep is set: nobody could tell what a folder lacks; records are read back "
            "from objects that have all records of their range"
        )
    if form == "jsonl":
        kept = backup.output.columns_of_kafka(has_schema=False)
        missing = [part for part in ("offset", *PARTS) if part not in kept]
        if missing:
            return f"spec.output.jsonl.kafkaColumns has no {', '.join(missing)}, so objects have not all of a record"
    return None


def kept_parts(backup: Spec) -> frozenset[Part]:
    """Return what objects have of records beside values."""
    of_sequencefile = backup.output.sequencefile
    if of_sequencefile is not None and of_sequencefile.key == "messagepack":
        return frozenset(["key", "timestamp"])
    return frozenset(PARTS if backup.output.format in ("kafka", "jsonl") else ())


def lacking(backup: Spec, live: Spec) -> str | None:
    """Return what the objects of a backup do not have, and what needs it; None: nothing. Both specs are of the topic.

    Quarantine needs nothing: what is not kept is null there.
    """
    kept = kept_parts(backup)
    for part, field in _needed(live):
        if part not in kept:
            return f"{field} needs the {part} of records, and spec.output.{backup.output.format} of the backup has none"
    return None


def flaw(backup: Spec, facts: ObjectFacts) -> str | None:
    """Return what an object cannot tell of its records; None: it has them as they were."""
    form = backup.output.format
    if form == "kafka":
        return None
    if facts.tombstones and backup.output.tombstones != "null":
        return f"{facts.tombstones} of its records have null values, which {form} does not keep"
    if form == "text" and facts.records != facts.last - facts.first + 1:
        return "the offsets of its records have gaps, and text does not keep offsets"
    return None


def _needed(live: Spec) -> Iterator[tuple[Part, str]]:
    if live.has_types:
        yield from ((part, "spec.types") for part in PARTS)
    for spec in live.of_types():
        output = spec.output
        columns = output.columns_of_kafka(has_schema=spec.row_schema.has_columns)
        yield from ((part, f"spec.output.{output.format}.kafkaColumns") for part in PARTS if part in columns)
        if output.sequencefile is not None and output.sequencefile.key == "messagepack":
            yield from ((part, "spec.output.sequencefile.key") for part in PARTS[:2])
        if any(rule.date is not None and rule.date.field is None for rule in output.partition_by):
            yield "timestamp", "spec.output.partitionBy"
        if spec.key is not None:
            yield "key", "spec.key"
        if header_conditions(spec.keep):
            yield "headers", "spec.keep"
        if spec.may_have_ids_in_headers:
            yield "headers", "the registry of spec.value"
