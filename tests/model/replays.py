"""Replays of quarantine beside each other and beside a member, in a bucket of sets: every interleaving of their steps.

Which step comes next is decided by the product (`replay.protocol.next_step`). A step is several requests, between any
two of which a process may stand still, die, or be overtaken.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache

from logpersister.ranges import Range, TopicPartition
from logpersister.replay import protocol
from logpersister.replay.protocol import Step
from logpersister.storage.replays import Replay, Source

Records = frozenset[int]
EVERY: Records = frozenset({0, 1, 2})
ACCEPTED: Mapping[str, Records] = {"narrow": frozenset({1}), "wide": frozenset({1, 2})}
"""By revision; nobody accepts record 0."""
ORIGINAL = "_quarantine/q"
_RANGE = Range(TopicPartition("clicks", 0), 0, 3)


@cache
def source_of(path: str, records: Records) -> Source:
    said = "".join(map(str, sorted(records)))
    return Source(path, _RANGE, None, 1, min(records), max(records), len(records), said, "narrow")


@dataclass(frozen=True)
class Bucket:
    """Objects and notes, by name."""

    objects: tuple[tuple[str, Records], ...] = ((ORIGINAL, EVERY),)
    notes: tuple[tuple[str, str, Source, bool], ...] = ()
    """Source, revision, what the source was, and whether the replay is settled."""

    def get(self, path: str) -> Records | None:
        return dict(self.objects).get(path)

    def put(self, path: str, records: Records) -> "Bucket":
        return replace(self, objects=tuple(sorted({**dict(self.objects), path: records}.items())))

    def delete(self, path: str) -> "Bucket":
        return replace(self, objects=tuple(one for one in self.objects if one[0] != path))

    def note(self, path: str) -> Replay | None:
        for of, revision, source, settled in self.notes:
            if of == path:
                replay = Replay(source, revision)
                return replace(replay, objects=dict.fromkeys(made_by(replay), 1)) if settled else replay
        return None

    def put_note(self, replay: Replay) -> "Bucket":
        path = replay.source.path
        kept = [one for one in self.notes if one[0] != path]
        return replace(
            self, notes=tuple(sorted([*kept, (path, replay.revision, replay.source, replay.settled)], key=str))
        )


def made_by(replay: Replay) -> dict[str, Records]:
    """Return the objects of a replay of what its source was."""
    records = frozenset(map(int, replay.source.checksum))
    good = records & ACCEPTED[replay.revision]
    found = {f"folder/{replay.id}": good, f"_quarantine/{replay.id}": records - good}
    return {path: some for path, some in found.items() if some}


@dataclass(frozen=True)
class Rules:
    """How a replay is carried out; each field can be broken."""

    decide: Callable[..., Step] = protocol.next_step
    begins_if_absent: bool = True
    follows_the_note: bool = True
    settles_last: bool = True
    looks_at_source_first: bool = True
    waits_for_the_replay_before: bool = True


@dataclass(frozen=True)
class Replayer:
    """A process: what it has listed, and what it is about to do."""

    revision: str
    left: tuple[str, ...] | None = None
    """Objects that it will replay; None: it has not listed yet."""
    seen_source: Source | None = None
    seen_note: Replay | None = None
    is_live: bool = True
    looked: int = 0
    """How many of the three looks are done."""
    effects: tuple[tuple[str, str | Replay], ...] = ()
    """Requests that are left of a step."""

    def __hash__(self) -> int:
        return hash((self.revision, self.left, self.seen_source, self.is_live, self.looked, len(self.effects)))

    @property
    def is_done(self) -> bool:
        return self.left == ()


@dataclass(frozen=True)
class World:
    """A bucket and who works on it."""

    rules: Rules
    bucket: Bucket = field(default_factory=Bucket)
    replayers: tuple[Replayer, ...] = (Replayer("narrow"), Replayer("wide"))
    crashes: int = 1
    rewrites: int = 1
    """How often a member, a zombie or one that recovers, stores the range again."""

    def key(self) -> object:
        return self.bucket, self.replayers, self.crashes, self.rewrites


class ViolationError(Exception):
    """A record is lost, twice in folders, or in other than one live object; or a replay ends without a reason."""


def check(world: World) -> None:
    """Raise ViolationError unless each record is where it should be."""
    bucket = world.bucket
    notes = {path: note for path, *_ in bucket.notes if (note := bucket.note(path)) is not None}
    made = {path: note for note in notes.values() for path in made_by(note)}
    for record in EVERY:
        holding = [path for path, records in bucket.objects if record in records]
        live = [
            path
            for path in holding
            if not (path in notes and notes[path].settled) and (path not in made or made[path].settled)
        ]
        if len(live) != 1:
            raise ViolationError(f"record {record} is live in {live}: {world.bucket}")
        if sum(path.startswith("folder/") for path in holding) > 1:
            raise ViolationError(f"readers see record {record} twice: {holding}")


def following(world: World) -> Iterator[World]:
    """Yield what can be next."""
    for place, one in enumerate(world.replayers):
        others = world.replayers[:place], world.replayers[place + 1 :]
        if not one.is_done:
            bucket, after = _go_on(world, one)
            yield replace(world, bucket=bucket, replayers=(*others[0], after, *others[1]))
            if world.crashes:
                again = Replayer(one.revision)
                yield replace(world, replayers=(*others[0], again, *others[1]), crashes=world.crashes - 1)
    if world.rewrites:
        yield replace(world, bucket=world.bucket.put(ORIGINAL, EVERY), rewrites=world.rewrites - 1)


def _go_on(world: World, one: Replayer) -> tuple[Bucket, Replayer]:
    """Send one request."""
    bucket, rules = world.bucket, world.rules
    if one.left is None:
        return bucket, replace(one, left=tuple(path for path, _ in bucket.objects if path.startswith("_quarantine/")))
    path = one.left[0]
    if one.looked == 0:
        waits = rules.waits_for_the_replay_before and not all(
            note.settled for of, *_ in bucket.notes if (note := bucket.note(of)) is not None and path in made_by(note)
        )
        return bucket, replace(one, looked=1, is_live=not waits)
    if one.looked < 3:
        if (one.looked == 1) == rules.looks_at_source_first:
            found = bucket.get(path)
            return bucket, replace(
                one, looked=one.looked + 1, seen_source=None if found is None else source_of(path, found)
            )
        return bucket, replace(one, looked=one.looked + 1, seen_note=bucket.note(path))
    if not one.effects:
        effects = _effects(rules, one, bucket)
        if effects is None:
            return bucket, Replayer(one.revision, one.left[1:])
        one = replace(one, effects=effects)
    (verb, what), *rest = one.effects
    bucket = _sent(rules, bucket, path, verb, what, one.seen_note)
    return bucket, replace(one, effects=tuple(rest)) if rest else Replayer(one.revision, one.left)


def _effects(rules: Rules, one: Replayer, bucket: Bucket) -> tuple[tuple[str, str | Replay], ...] | None:
    """Return the requests of the next step; None: there is none."""
    source, note = one.seen_source, one.seen_note
    match rules.decide(source, note, is_live=one.is_live):
        case Step.BEGIN:
            assert source is not None
            if not frozenset(map(int, source.checksum)) & ACCEPTED[one.revision]:
                return None
            return (("begin", Replay(source, one.revision)),)
        case Step.WRITE:
            assert source is not None
            replay = note if note is not None and rules.follows_the_note else Replay(source, one.revision)
            if bucket.get(source.path) is None:
                return (("nothing", ""),)  # it has gone since, and reading it fails
            puts = tuple(("put", path) for path in sorted(made_by(replay)))
            settle = (("settle", replace(replay, objects=dict.fromkeys(made_by(replay), 1))),)
            found: tuple[tuple[str, str | Replay], ...] = puts + settle if rules.settles_last else settle + puts
            return found
        case Step.DELETE:
            return (("delete", ""),)
        case Step.DONE | Step.WAIT:
            return None
        case step:
            raise ViolationError(f"{one.revision} ends with {step.name}")


def _sent(rules: Rules, bucket: Bucket, path: str, verb: str, what: str | Replay, note: Replay | None) -> Bucket:
    if verb == "delete":
        return bucket.delete(path)
    if verb == "put":
        assert isinstance(what, str)
        replays = [note] if note is not None else []
        replays += [Replay(one.source, revision) for one in replays for revision in ACCEPTED]
        return bucket.put(what, next(made[what] for made in map(made_by, replays) if what in made))
    if isinstance(what, Replay) and (verb == "settle" or bucket.note(path) is None or not rules.begins_if_absent):
        return bucket.put_note(what)
    return bucket


def explore(world: World) -> tuple[int, list[Bucket]]:
    """Play everything that can happen; return the number of states, and the buckets at the ends."""
    seen: set[object] = set()
    ends: list[Bucket] = []
    todo = [world]
    while todo:
        here = todo.pop()
        key = here.key()
        if key in seen:
            continue
        seen.add(key)
        check(here)
        following_worlds = list(following(here))
        todo += following_worlds
        if all(one.is_done for one in here.replayers):
            ends.append(here.bucket)
    return len(seen), ends
