"""Names of objects: where everything of a group stands in the bucket. Pure; the layout is in docs/design/objects.md.

``<prefix>/<topic>/<partition path…>/<generation>_<partition>_<start, 20 digits><extension>``  records
``<prefix>/<topic>/<partition path…>/<generation>_<partition>_<start>.r<12 digits><extension>``  those out of quarantine
``<prefix>/<topic>/_archives/<folder by time…>/<label>_<time>[_<hash>]<extension>``            archives of such folders
``<prefix>/_logpersister/<group>/…``                                                          what the group remembers

Every function that makes a name raises ValueError rather than return one that is not below the prefix, that S3 would
not take, or that its inverse would read differently.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote, unquote

from logpersister.ranges import Offset, Range, TopicPartition
from logpersister.records.escaping import ARCHIVES, QUARANTINE, escape, is_safe_path, unescape

RULES = 1
"""Raise it when the object of a range and a path gets another name than before."""

OWN = "_logpersister"
"""The folder below the prefix for what is not records. A topic of this name is escaped, so it cannot meet it."""

LOSSES, REPLAYS, FINISHED, TOPICS = "losses", "replays", "finished", "topics"
"""Folders of notes; others are named where their notes are."""
WATERMARK = "_topic"
"""Stands for a topic as a whole, beside its folders."""

_ESCAPED_TOPICS = {name: "%5F" + name[1:] for name in (OWN, QUARANTINE)}
"""Topics whose names are folders of ours; below another prefix they could meet, too."""
_UNESCAPED_TOPICS = {segment: name for name, segment in _ESCAPED_TOPICS.items()}

MAX_KEY_BYTES = 1024
"""The limit of S3 for an object's name."""

MAX_METADATA_BYTES = 2048
"""The limit of S3 for the names and values of an object's user metadata together."""

_FILE = re.compile(r"(0|[1-9]\d*)_(0|[1-9]\d*)_(\d{20})((?:\.[A-Za-z0-9]+)*)", re.ASCII)
_EXTENSION = re.compile(r"(?:\.[A-Za-z0-9]+)*", re.ASCII)
_ATTEMPT = re.compile(r"[0-9a-f]{16}|[0-9a-f]{8}", re.ASCII)
"""Sixteen digits by chance; earlier releases had eight, of a digest."""
_HASH = re.compile(r"[0-9a-f]{6,64}", re.ASCII)
_REPLAY = re.compile(r"\.r([0-9a-f]{12})((?:\.[A-Za-z0-9]+)*)", re.ASCII)
"""How an extension begins where records came out of quarantine. To earlier releases it is an extension like others."""


@dataclass(frozen=True, slots=True, order=True)
class ObjectName:
    """Parts of an object's name."""

    topic: str
    partition: int
    generation: int
    start: Offset
    """The first offset of the range (not of the object, whose first record may come later)."""
    path: str
    """The partition path, ``""`` or for example ``dt=2026-11-21/hr=05``."""
    extension: str
    """Extension with its dots, for example ``.txt.gz``; may be empty."""

    @property
    def topic_partition(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)

    @property
    def replay(self) -> str | None:
        """Id of the replay that wrote the object (`replay_extension`); None: a member wrote it."""
        found = _REPLAY.fullmatch(self.extension)
        return found[1] if found else None


def object_key(
    prefix: str, topic: str, path: str, generation: int, partition: int, start: Offset, extension: str
) -> str:
    """Return the name of the object with the records of `path` of the range that begins at `start`."""
    if generation < 0 or partition < 0 or not 0 <= start < 10**20:
        raise ValueError(f"no object name for generation {generation}, partition {partition}, start {start}")
    if not _EXTENSION.fullmatch(extension):
        raise ValueError(f"{extension!r} is not an extension of object names; expected for example .txt.gz")
    if not is_safe_path(path):
        raise ValueError(f"{path!r} is not a partition path; its segments have to be escaped and not empty")
    file = range_file(generation, partition, start) + extension
    return _joined(prefix, _topic_segment(topic), path, file)


def parse_object_key(prefix: str, key: str) -> ObjectName | None:
    """Return what `key` says, or None when `object_key` never gives this name below `prefix`."""
    relative = relative_key(prefix, key)
    if relative is None:
        return None
    topic_segment, *path_segments = relative.split("/")
    if not path_segments:
        return None
    topic, path = unescape_topic(topic_segment), "/".join(path_segments[:-1])
    file = _FILE.fullmatch(path_segments[-1])
    if topic is None or file is None or not is_safe_path(path):
        return None
    if len(path_segments) > 1 and not path:
        return None
    generation, partition, start, extension = file.groups()
    return ObjectName(topic, int(partition), int(generation), int(start), path, extension)


def replay_extension(replay: str, extension: str) -> str:
    """Return what the names of the objects of a replay end with, which no other replay and no member gives.

    The rest of the name is that of the range whose records they are: they stand for it like its other objects.
    """
    whole = f".r{replay}{extension}"
    if not _REPLAY.fullmatch(whole):
        raise ValueError(f"{replay!r} does not name a replay, or {extension!r} is no extension")
    return whole


def topic_prefix(prefix: str, topic: str) -> str:
    """Return what the names of all objects of `topic` begin with; ends with a slash."""
    return _joined(prefix, _topic_segment(topic), "")


def archive_key(prefix: str, topic: str, path: str, file: str) -> str:
    """Return the name of the archive of a finished folder."""
    if not path or not is_safe_path(f"{path}/{file}"):
        raise ValueError(f"{path!r} and {file!r} are not a folder and a file")
    return _joined(prefix, _topic_segment(topic), ARCHIVES, path, file)


def own_prefix(prefix: str, group: str) -> str:
    """Return what the names of everything that `group` remembers begin with; ends with a slash."""
    return _joined(prefix, OWN, escape(group), "")


def notes_prefix(prefix: str, group: str, folder: str, topic: str | None = None) -> str:
    """Return what the names of all notes in a folder begin with, of one topic or of all; ends with a slash."""
    return _checked(own_prefix(prefix, group) + f"{folder}/" + ("" if topic is None else f"{_topic_segment(topic)}/"))


def note_key(prefix: str, group: str, folder: str, topic: str, file: str) -> str:
    """Return the name of a note about a topic."""
    return _checked(notes_prefix(prefix, group, folder, topic) + file)


def range_file(generation: int, partition: int, start: Offset) -> str:
    """Return what names of files begin with that are about a range."""
    return f"{generation}_{partition}_{start:020d}"


def groups_prefix(prefix: str) -> str:
    """Return the folder that has one folder for each group which writes below `prefix`; ends with a slash."""
    return _joined(prefix, OWN, "")


def revision_key(prefix: str, group: str, revision: str) -> str:
    """Return the name of the snapshot of the revision with this hash (lower-case hex)."""
    if not _HASH.fullmatch(revision):
        raise ValueError(f"{revision!r} is not the hash of a revision; expected 6 to 64 hex digits")
    return own_prefix(prefix, group) + f"revisions/{revision}.json"


def facts_key(prefix: str, group: str, key: str, attempt: str) -> str:
    """Return the name of the facts document of one attempt to make the object `key` (which is below `prefix`).

    The object of this attempt has `attempt` in its own metadata as ``facts``. So whatever attempts run side by side,
    and whichever is the last to make the object visible, the object is read with its own facts.
    """
    if not is_attempt(attempt):
        raise ValueError(f"{attempt!r} does not name an attempt; expected 16 hex digits")
    return _checked(facts_prefix(prefix, group, key) + f"{attempt}.json")


def facts_prefix(prefix: str, group: str, key: str) -> str:
    """Return what the names of the facts documents of the object `key` begin with, and perhaps those of others."""
    return own_prefix(prefix, group) + f"facts/{_relative_of_records(prefix, key)}."


def loss_key(prefix: str, group: str, lost: Range, topic_id: str | None) -> str:
    """Return the name of the record that the offsets `lost` will never be stored.

    The topic's id is in it because a topic that is made again may lose the same offsets again.
    """
    file = f"{lost.partition.partition}_{lost.start:020d}_{lost.end:020d}"
    if topic_id is not None:
        file += f"_{escape(topic_id)}"
    return note_key(prefix, group, LOSSES, lost.partition.topic, f"{file}.json")


def replay_key(prefix: str, group: str, key: str) -> str:
    """Return the name of the note that the object `key` in quarantine is replayed, or was."""
    return _checked(own_prefix(prefix, group) + f"{REPLAYS}/{_relative_of_records(prefix, key)}.json")


def _relative_of_records(prefix: str, key: str) -> str:
    relative = relative_key(prefix, key)
    if relative is None or relative.startswith(f"{OWN}/"):
        raise ValueError(f"{key!r} is not an object of records below {prefix!r}")
    return relative


def current_key(prefix: str, group: str, topic: str) -> str:
    """Return the name of the document which objects of a topic count."""
    return _checked(own_prefix(prefix, group) + f"current/{_topic_segment(topic)}.json")


def finished_key(prefix: str, group: str, topic: str) -> str:
    """Return the name of the note with the watermark of a topic."""
    return note_key(prefix, group, FINISHED, topic, f"{WATERMARK}.json")


def folder_key(prefix: str, group: str, topic: str, path: str) -> str:
    """Return the name of the note what a finished folder has in it."""
    if not path or not is_safe_path(path):
        raise ValueError(f"{path!r} is not the path of a folder")
    return note_key(prefix, group, FINISHED, topic, f"{path}.json")


def receipt_key(
    prefix: str, group: str, partition: TopicPartition, generation: int, start: Offset, *, kept: bool = False
) -> str:
    """Return the name of the receipt of the range that begins at `start`; it is named as the objects of the range."""
    file = f"{range_file(generation, partition.partition, start)}.json"
    return note_key(prefix, group, receipts_folder(kept=kept), partition.topic, file)


def receipts_folder(*, kept: bool) -> str:
    """Return the folder of receipts; `kept`: of those that stay, for a switch between generations."""
    return "kept-receipts" if kept else "receipts"


def parse_receipt_file(name: str) -> tuple[int, int, Offset] | None:
    """Return generation, partition and start of the range of a receipt; None: no receipt has this name."""
    file = _FILE.fullmatch(name)
    if file is None or file[4] != ".json":
        return None
    return int(file[1]), int(file[2]), int(file[3])


def table_key(prefix: str, group: str, topic: str, generation: int, digest: str) -> str:
    """Return the name of the note by which numbers the table of a topic knows certain columns."""
    return note_key(prefix, group, "tables", topic, f"{generation}_{digest}.json")


def topic_key(prefix: str, group: str, topic: str, generation: int) -> str:
    """Return the name of the note which topic (by id) of this name a generation is about."""
    return note_key(prefix, group, TOPICS, topic, f"{generation}.json")


def partition_prefix(prefix: str, topic: str, path: str, generation: int, partition: int) -> str:
    """Return what the names of all objects of a partition, generation and partition path begin with."""
    return _joined(prefix, _topic_segment(topic), path, f"{generation}_{partition}_")


def probe_key(prefix: str, group: str, attempt: str) -> str:
    """Return the name of the tiny object that shows what can be done with the bucket; each attempt has its own."""
    return f"{own_prefix(prefix, group)}probe.{attempt}"


def object_address(bucket: str, key: str) -> str:
    """Return how tables and query engines name an object."""
    return f"s3://{bucket}/{key}"


def relative_key(prefix: str, key: str) -> str | None:
    """Return what follows the prefix in `key`, never empty; None when `key` is not below it."""
    folder = head(prefix)
    return key[len(folder) :] or None if key.startswith(folder) else None


def unescape_topic(segment: str) -> str | None:
    """Return the topic whose objects stand in the folder `segment`; None when no topic has it."""
    topic = _UNESCAPED_TOPICS.get(segment)
    if topic is not None:
        return topic
    return None if segment in _ESCAPED_TOPICS else unescape(segment)


def encode_metadata(metadata: Mapping[str, str]) -> dict[str, str]:
    """Return user metadata as S3 keeps it unchanged: lower-case names, values percent-encoded to plain ASCII.

    Raises ValueError when it is more than S3 keeps with an object.
    """
    encoded = {name.lower(): quote(value, safe="-._~:;,=+/ ", encoding="utf-8") for name, value in metadata.items()}
    encoded = {name: value.replace(" ", "%20") for name, value in encoded.items()}
    size = sum(len(name) + len(value) for name, value in encoded.items())
    if size > MAX_METADATA_BYTES:
        longest = max(encoded, key=lambda name: len(encoded[name]))
        raise ValueError(
            f"the metadata of an object would have {size} bytes, S3 keeps {MAX_METADATA_BYTES}; "
            f"shorten {longest!r}, the longest value"
        )
    return encoded


def is_attempt(text: str) -> bool:
    """Whether `text` can name an attempt."""
    return _ATTEMPT.fullmatch(text) is not None


def decode_metadata(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the metadata that `encode_metadata` made `headers` from."""
    return {name.lower(): unquote(value, encoding="utf-8", errors="replace") for name, value in headers.items()}


def _topic_segment(topic: str) -> str:
    return _ESCAPED_TOPICS.get(topic) or escape(topic)


def head(prefix: str) -> str:
    """Return the prefix as names begin with it: without slashes around it, with one at its end, or empty."""
    stripped = prefix.strip("/")
    return f"{stripped}/" if stripped else ""


def _joined(prefix: str, *segments: str) -> str:
    """Join the segments below the prefix; empty ones vanish, except for a last one, which leaves a slash at the end."""
    *inner, last = segments
    return _checked(head(prefix) + "/".join([*filter(None, inner), last]))


def _checked(key: str) -> str:
    if len(key.encode("utf-8", "surrogatepass")) > MAX_KEY_BYTES:
        raise ValueError(f"the object name {key[:80]!r}… is longer than the {MAX_KEY_BYTES} bytes that S3 takes")
    return key
