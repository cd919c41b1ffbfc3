"""Replays objects in quarantine, step by step (`replay.protocol`), with what members write ranges with."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final

from logpersister.compiled.formats import TopicFormats
from logpersister.compiled.topic import CompiledTopic
from logpersister.manifest.blocks.keep import header_conditions
from logpersister.manifest.revisions.revision import Revision
from logpersister.pipeline.arrivals import arrival_notes
from logpersister.pipeline.folder_notes import folder_notes
from logpersister.pipeline.open_object import Upload
from logpersister.pipeline.persist import RangeWriter
from logpersister.pipeline.room import Room
from logpersister.pipeline.splitting import sides
from logpersister.pipeline.work import RangeWork
from logpersister.plan.intents import CommittedOffset
from logpersister.records.escaping import QUARANTINE
from logpersister.replay.protocol import Step, may_be_written, next_step
from logpersister.replay.source import REMEDY, SourceError, SourceRecords, keeps_all
from logpersister.storage import names
from logpersister.storage.errors import REFUSALS, StorageError
from logpersister.storage.facts import LEFT_OUT, RANGE_KEYS, VALUES, ForeignObjectError, ObjectFacts, check_name
from logpersister.storage.names import ObjectName
from logpersister.storage.replays import Replay, Source, begin_replay, get_replay, settle_replay
from logpersister.storage.store import ObjectStore
from logpersister.values.reading.adjusted import by_reason

_AS_ITS_SOURCE: Final = (*RANGE_KEYS, "parser", "horizon")
"""What an object of a replay says as its source does: it is one of the range, which that revision had promised."""
_ORIGIN: Final = "replay-of"
"""Metadata key: extension of the source, which alone tells two objects in quarantine apart."""

_ENDS: Final = {
    Step.LOST: "it was deleted while its replay was under way, by somebody else: restore it (bucket versions, backup), "
    "then replay it again",
    Step.CHANGED: "it has other records than when its replay began: it was written anew since. Nothing was deleted; "
    "logpersister verify --deep tells what is where",
}


@dataclass(frozen=True, slots=True)
class TopicOutput:
    """How a revision writes the records of a topic."""

    revision: Revision
    topic: CompiledTopic


@dataclass(slots=True)
class Judgement:
    """Counts of an object's records by a revision's judgement."""

    records: int = 0
    accepted: int = 0
    left_out: int = 0
    adjusted: Counter[str] = field(default_factory=Counter)
    """Values in accepted records that the parser adjusts, by reason."""

    @property
    def refused(self) -> int:
        return self.records - self.accepted - self.left_out


@dataclass(frozen=True, slots=True)
class Result:
    """Result of a replay for an object in quarantine."""

    judgement: Judgement
    replay: Replay | None = None
    """Settled replay of the object; None: it stays as it is."""
    waits: bool = False
    """Whether it stays because the replay that has refused its records is not settled yet."""


class Replayer:
    """Replays the objects of one group. Every method may be repeated after a crash."""

    def __init__(
        self,
        store: ObjectStore,
        group: str,
        output_of: Callable[[str], TopicOutput],
        output_under: Callable[[str], TopicOutput],
        put_revision: Callable[[str, Mapping[str, Any]], None],
        horizon_of: Callable[[str, int], int | None] = lambda _topic, _generation: None,
        *,
        leaves_out: bool = False,
    ) -> None:
        """Begin.

        Args:
            output_of: how the manifest writes a topic now.
            output_under: how a revision does that has begun a replay. Raises SourceError.
            horizon_of: returns up to when the folders of a topic are finished now, for what a generation stores.
            leaves_out: whether a replay that begins deletes records which the manifest leaves out; else they stay in
                quarantine.
        """
        self._store = store
        self._group = group
        self._output_of = output_of
        self._output_under = output_under
        self._put_revision = put_revision
        self._horizon_of = horizon_of
        self._leaves_out = leaves_out
        self._stored: set[str] = set()
        """Replays whose objects this process has written."""

    def revision_of(self, topic: str) -> str:
        """Return the revision of the manifest, for a topic."""
        return self._output_of(topic).revision.hash

    def may_be_written(self, key: str, name: ObjectName, committed: CommittedOffset | None) -> bool:
        """Return whether a member may still be at work on the range of an object. Raises SourceError, StorageError."""
        source, _ = self._look(key, name)
        return source is not None and may_be_written(source, committed)

    def judge(self, key: str, name: ObjectName) -> Judgement:
        """Return what the manifest says of an object; writes nothing. Raises SourceError, StorageError."""
        source, _ = self._look(key, name)
        if source is None:
            return Judgement()
        output = self._output_of(name.topic)
        return self._judged(key, source, output, self._horizon(name, output))

    def replay(self, key: str, name: ObjectName) -> Result:
        """Replay an object, if any of its records is good now. Raises SourceError, StorageError."""
        while True:
            is_live = self._is_live(key, name)
            source, note = self._look(key, name)
            step = next_step(source, note, is_live=is_live)
            if step is Step.DONE:
                return Result(_of(note), note) if note is not None else Result(Judgement())
            if step is Step.WAIT:
                return Result(Judgement(), waits=True)
            if step in _ENDS:
                raise SourceError(_ENDS[step])
            try:
                refused = self._take(step, key, name, source, note)
            except (SourceError, StorageError):
                if (source, note) == self._look(key, name):
                    raise
                continue  # another replay was faster, and has deleted what was being read
            if refused is not None:
                return Result(refused)

    def _take(
        self, step: Step, key: str, name: ObjectName, source: Source | None, note: Replay | None
    ) -> Judgement | None:
        """Take a step; return what is said of the source if none of its records is good, so that it stays."""
        if step is Step.DELETE and note is not None:
            self._check_stands(key, note)
            self._delete(key)
        elif note is not None:
            settle_replay(self._store, self._group, self._written(key, name, note))
            self._stored.add(note.id)
        elif source is not None:
            output = self._output_of(name.topic)
            self._check_values(key, output)
            horizon = self._horizon(name, output)
            judgement = self._judged(key, source, output, horizon)
            left_out = judgement.left_out
            if not judgement.accepted and not (left_out and self._leaves_out):
                return judgement
            self._put_revision(output.revision.hash, output.revision.document)
            keeps = left_out > 0 and not self._leaves_out
            begun = Replay(source, output.revision.hash, left_out=left_out, keeps_left_out=keeps, horizon=horizon)
            begin_replay(self._store, self._group, begun)
        return None

    def _horizon(self, name: ObjectName, output: TopicOutput) -> int | None:
        """Return the present watermark; None also where late records stand with the others."""
        return None if output.topic.spec.late == "append" else self._horizon_of(name.topic, name.generation)

    def _check_stands(self, source: str, note: Replay) -> None:
        """Raise SourceError where an object of a settled replay has gone, so that the source may be all there is.

        Somebody has deleted it since, or has copied the note without it, and the range was executed again.
        """
        if note.id in self._stored:
            return  # a moment ago, by us
        for key in note.keys(self._store.prefix):
            if self._store.metadata(key) is None:
                again = get_replay(self._store, self._group, key)  # of what was refused
                if again is None or not again.settled:
                    noted = names.replay_key(self._store.prefix, self._group, source)
                    raise SourceError(
                        f"its records were replayed, but {key}, in which some of them stood, has gone: restore it "
                        f"(bucket versions, backup), or, if no object of that replay is left, delete its note {noted}"
                    )

    def _check_values(self, key: str, output: TopicOutput) -> None:
        """Raise SourceError where values are not there, or would not be of what is refused again."""
        if (self._store.metadata(key) or {}).get(VALUES) == LEFT_OUT:
            raise SourceError(
                "values were left out of it (spec.quarantine.keepValue: false); while Kafka has its range, "
                "store it again in a higher generation"
            )
        if not output.topic.spec.keeps_refused_values:
            raise SourceError(
                "what the manifest refuses again would lose its values (spec.quarantine.keepValue is not true); "
                "replay with a manifest that says true"
            )

    def _delete(self, key: str) -> None:
        try:
            self._store.delete(key)
        except StorageError as error:
            if error.kind not in REFUSALS:
                raise
            raise SourceError(
                "its records stand in their folders now, but it could not be deleted: members need no right to delete "
                f"records, who replays does (docs/security.md); grant it and replay again ({error})"
            ) from None

    def _look(self, key: str, name: ObjectName) -> tuple[Source | None, Replay | None]:
        """Return the source, looked at first, and the note of its replay."""
        facts = self._facts(key, name)
        if facts is not None:
            if facts.group != self._group:
                raise SourceError(f"group {facts.group} has written it")
            if not keeps_all(name.extension):
                raise SourceError(
                    f"objects {name.extension or 'without extension'} do not keep all of a record; {REMEDY}"
                )
        source = None if facts is None else Source.of(self._store.prefix, key, facts)
        return source, get_replay(self._store, self._group, key)

    def _is_live(self, key: str, name: ObjectName) -> bool:
        if name.replay is None:
            return True
        metadata = self._store.metadata(key)
        if metadata is None:
            return True  # it has gone, and nothing rests on this
        origin = names.object_key(
            self._store.prefix,
            name.topic,
            name.path,
            name.generation,
            name.partition,
            name.start,
            metadata.get(_ORIGIN, ""),
        )
        note = get_replay(self._store, self._group, origin)
        return note is not None and note.id == name.replay and key in note.keys(self._store.prefix)

    def _facts(self, key: str, name: ObjectName) -> ObjectFacts | None:
        try:
            facts = self._store.facts(key)
            if facts is not None:
                check_name(key, name, facts)
        except ForeignObjectError as error:
            raise SourceError(str(error)) from None
        return facts

    @contextmanager
    def _reading(self, key: str, source: Source, output: TopicOutput) -> Iterator[SourceRecords]:
        with SourceRecords.read(source, self._store.read(key)) as records:
            if output.topic.formats.wants_headers and not records.has_headers:
                raise SourceError(
                    "it has no headers, and spec.output stores them; leave them out of the columns of Kafka, or store "
                    "its range again in a higher generation while Kafka has it"
                )
            if header_conditions(output.topic.spec.keep) and not records.has_headers:
                raise SourceError(
                    "it has no headers, and spec.keep has conditions on them; replay by a manifest without these, or "
                    "store its range again in a higher generation while Kafka has it"
                )
            yield records

    def _judged(self, key: str, source: Source, output: TopicOutput, horizon: int | None) -> Judgement:
        judgement, layout = Judgement(), output.topic.layout_at(horizon)
        with self._reading(key, source, output) as records:
            for batch in records.batches():
                found = list(sides(batch, layout))
                judgement.records += batch.num_rows
                judgement.accepted += sum(side.rows.num_rows for side in found if side.refused is None)
                judgement.left_out += batch.num_rows - sum(side.rows.num_rows for side in found)
                for side in found:
                    if side.adjusted is not None:
                        judgement.adjusted += by_reason(side.adjusted.counts())
        return judgement

    def _written(self, key: str, name: ObjectName, note: Replay) -> Replay:
        """Write all objects of a replay; return it settled."""
        output = self._output_under(note.revision)
        source = note.source
        of = source.range
        work = RangeWork(of, source.topic_id, name.generation, 0, of.start, again=True, horizon=note.horizon)
        facts, metadata = self._facts(key, name), self._store.metadata(key)
        if facts is None or metadata is None:
            raise SourceError("it was deleted meanwhile, perhaps by another replay; replay again")
        formats = output.topic.formats
        objects = _Objects(self._store, metadata, name, note, formats)
        layout = output.topic.layout_at(note.horizon, keeps_left_out=note.keeps_left_out)
        room = Room.of(output.topic.spec.storage.part_size, formats.held_back)
        writer = RangeWriter(work, layout, formats, objects.open, room)
        try:
            with self._reading(key, source, output) as records:
                while True:
                    for batch in records.batches():
                        writer.write(batch)
                    if not writer.end_pass(facts.unexplained):  # of its range: verify asks Kafka about them
                        break
            written = writer.objects()
            note_arrivals = arrival_notes(self._store, self._group, output.topic.spec)
            if note_arrivals is not None:
                note_arrivals(work, written)
            notes = folder_notes(self._store, self._group, output.topic.spec)
            if notes is not None:
                notes.note(written)
        except BaseException:
            writer.abort()
            raise
        found = {one.key[len(names.head(self._store.prefix)) :]: one.records for one in written}
        wanted = source.records - note.deleted
        if sum(found.values()) != wanted:
            raise SourceError(f"{sum(found.values())} of {wanted} of its records were written: a bug, report it")
        return replace(note, objects=found, adjusted=dict(writer.counts.adjusted))


def _of(note: Replay) -> Judgement:
    refused = f"/{QUARANTINE}/"
    objects = note.objects or {}
    accepted = sum(count for path, count in objects.items() if refused not in f"/{path}")
    return Judgement(note.source.records, accepted, note.left_out, Counter(note.adjusted))


@dataclass(frozen=True, slots=True)
class _Objects:
    store: ObjectStore
    of_source: Mapping[str, str]
    name: ObjectName
    note: Replay
    formats: TopicFormats

    def open(self, work: RangeWork, path: str) -> Upload:
        of, file_format = work.range.partition, self.formats.at(path)
        metadata = {key: self.of_source[key] for key in _AS_ITS_SOURCE if key in self.of_source}
        metadata |= {"rules": self.note.revision, _ORIGIN: self.name.extension}
        return self.store.writer(
            names.object_key(
                self.store.prefix,
                of.topic,
                path,
                self.name.generation,
                of.partition,
                work.range.start,
                names.replay_extension(self.note.id, file_format.extension),
            ),
            metadata,
            content_type=file_format.content_type,
            sweep=True,
        )
