"""Whether two moments of small worlds are the same, as far as anything that comes after can tell.

A fingerprint has everything that the future depends on. Left out are the past (the story), times (in a small world
whatever somebody waits for is due at his next turn), and numbers that are only compared with each other (tokens, group
generations, member ids), which are counted from the newest.

It walks over the cycle's objects by itself, so that a new field of production code takes part; a value of a kind that
it does not know makes it fail rather than forget. A turn that stands still in the middle is told by the cycle as it was
when the turn began, and by all that it was told since.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from operator import attrgetter
from typing import Any

from logpersister.plan import sizes
from logpersister.ranges import Range, TopicPartition
from tests.model.ledger import Identity, StoredObject
from tests.model.member import Member
from tests.model.ports import LateAnswer, Sender, Tokens
from tests.model.scenes import Incident, Kind
from tests.model.small import Small

Frozen = Any
"""Hashable."""

NOT_STATE = frozenset(
    {
        "_resource",
        "_revision",
        "_dependencies",
        "_listener",
        "_clock",
        "_now",
        "_states",
        "_sizes",
        "_spec",
        "_by_override",
        "_offsets",
    }
    | {"_group", "_register", "_jobs", "_state_store", "_wake", "_group_id", "_lock", "_next_token", "_own", "_kafka"}
    | {
        "_aside",
        "_ask_aside",
        "_writer",
        "_topic_bindings",
        "_sampler",
        "_schemas",
        "_snapshots",
        "clock",
        "protocol",
        "begin_at",
        "cut_behind",
    }
    # Jobs that have ended are seen from the other side; what is in `_outcomes` is told to the listener, no more.
    | {"_ended", "_outcomes", "_unreadable"}
    # Only time decides by it, and times are no state.
    | {"arrivals", "there"}
)
KEYS_ONLY = frozenset({"documents", "_documents", "unreadable"})
_AS_THEY_ARE = frozenset({int, str, bool, type(None), Range, StoredObject, TopicPartition, Identity})
_NOTHING: Frozen = frozenset()
TOKENS = frozenset({"token", "tokens", "_tokens"})


def fingerprint(world: Small) -> int:
    """Return a number that two moments share when they are the same."""
    ledger = world.kafka.ledger
    return hash(
        (
            _freeze(world.kafka.history),
            _freeze(world.kafka.topic_ids),
            _freeze(world.kafka.commits),
            (_freeze(world.registry.versions), frozenset(world.registry.incompatible), _freeze(world.finished.noted)),
            _freeze(list(world.kafka.past)) if Incident.FALL_BACK in world.scene.incidents else None,
            (_freeze(world.coordinator.former), world.coordinator.former_answers),
            (_freeze(world.coordinator.shared_out), _freeze(world.leader_sees)),
            _freeze(world.bucket.objects),
            (frozenset(world.bucket.revisions), _freeze(world.bucket.topics), frozenset(world.bucket.refusing)),
            (_freeze(world.bucket.selections), _freeze(world.bucket.documents)),
            _freeze(ledger.opinion()),
            tuple(_of_member(world, member) for member in world.members.values()),
            tuple(_of_jobs(world)),
            _of_group(world),
            (world.next_turn, world.turns_in_vain, min(world.started, 3), world.manifest),
            frozenset(world.may_be_held),
        )
    )


def remember(world: Small, member: Member) -> Frozen:
    """Return the cycle as it is between two turns; to be called before each turn."""
    if member.name not in world.cycles:
        newest = member.client.ownership._next_token
        # A token's distance to the newest changes when there is a newer one, so this is told with the tokens of then.
        world.cycles[member.name] = (_Freezer(newest).freeze(member.cycle), newest)
    return world.cycles[member.name]


def _of_member(world: Small, member: Member) -> Frozen:
    client = member.client
    newest = client.ownership._next_token
    cycle, newest_then = remember(world, member)
    turn: Frozen = None
    if member.process.in_the_middle:
        turn = (_Freezer(newest, world, member).freeze(member.seen), world.chronicle.time > member.turn_began)
    return (
        member.manifest,
        world.path.bytes_per_record(member.name),
        member.stopped,
        ((Kind.TURN, member.name) in world.paused, (Kind.CLIENT, member.name) in world.paused),
        (client.phase, client.generation == world.coordinator.generation, client.is_known, client.waits_for_ranges()),
        (frozenset(client.share), frozenset(client.given_last), _freeze(client.sees)),
        _Freezer(newest).freeze(client.ownership),
        (cycle, newest - newest_then, turn),
        tuple(_freeze(future.peek()) for future in world.spark.not_taken(member.name)),
    )


def _of_jobs(world: Small) -> Frozen:
    for owner, job in world.spark.running:
        work = tuple((task.revision, _freeze(item)) for task, item in job.work)
        yield _rank(world, owner), (Kind.JOB, job.name) in world.paused, work, _freeze(job.history)


def _of_group(world: Small) -> Frozen:
    group = world.coordinator
    return (
        group.rebalancing,
        frozenset(_identity(world, member) for member in group.known),
        frozenset((_identity(world, member), frozenset(claims)) for member, claims in group.joined.items()),
        frozenset((_identity(world, member), frozenset(share)) for member, (_, share) in group.answers.items()),
        world.moving,
        world.wanted_by and _identity(world, world.wanted_by),
    )


def _rank(world: Small, name: str) -> int:
    """Return how many living members are older; -1 for the dead."""
    return list(world.members).index(name) if name in world.members else -1


def _identity(world: Small, member_id: str) -> tuple[int, bool]:
    """Return whose id it is, and whether it is still in use."""
    name = member_id.partition(".")[0]
    return _rank(world, name), name in world.members and world.members[name].client.member_id == member_id


class _Freezer:
    """Makes values hashable."""

    def __init__(self, newest: int = 0, world: Small | None = None, member: Member | None = None) -> None:
        self._newest = newest
        self._world = world
        self._member = member

    def freeze(self, value: Any) -> Frozen:
        kind = type(value)
        if kind in _AS_THEY_ARE:
            return value
        way = _WAYS.get(kind)
        if way is None:
            way = _WAYS[kind] = _way(kind)
        return way(self, value)

    def dict(self, value: Mapping[Any, Any]) -> Frozen:
        freeze = self.freeze
        return frozenset([(freeze(key), freeze(entry)) for key, entry in value.items()]) if value else _NOTHING

    def set(self, value: Collection[Any]) -> Frozen:
        freeze = self.freeze
        return frozenset([freeze(entry) for entry in value]) if value else _NOTHING

    def sequence(self, value: Iterable[Any]) -> Frozen:
        freeze = self.freeze
        return tuple([entry if type(entry) in _AS_THEY_ARE else freeze(entry) for entry in value])

    def sender(self, value: Sender) -> Frozen:
        assert self._world is not None
        assert self._member is not None
        is_current = value.member_id == self._member.client.member_id
        return is_current, value.generation == self._world.coordinator.generation

    def field(self, name: str, value: Any) -> Frozen:
        if name in TOKENS:
            return self.tokens(value) if isinstance(value, Mapping) else self._newest - value
        return frozenset(value) if name in KEYS_ONLY else self.freeze(value)

    def tokens(self, tokens: Mapping[Any, int]) -> Frozen:
        return frozenset([(self.freeze(key), self._newest - token) for key, token in tokens.items()])


_Way = Callable[[_Freezer, Any], Frozen]
_WAYS: dict[type, _Way] = {
    Tokens: _Freezer.tokens,
    Sender: _Freezer.sender,
    sizes._Topic: lambda _, value: (value.stored_bytes, value.offsets),
}
"""How values are frozen, by their kind; `_way` adds each kind when it is first met: there are millions of values."""


def _way(kind: type) -> _Way:
    """Return how values of a kind are frozen; raise TypeError for one that nobody has thought of."""
    for kinds, way in _BUILT_IN:
        if issubclass(kind, kinds):
            return way
    if not kind.__module__.startswith(("logpersister.", "tests.model.ledger", "tests.model.kafka")):
        raise TypeError(f"is a {kind} state? tests/model/fingerprint.py has to know")
    names = [field.name for field in fields(kind) if field.name not in NOT_STATE] if is_dataclass(kind) else []
    return _of_fields(names) if names else _of_attributes


_BUILT_IN: tuple[tuple[tuple[type, ...], _Way], ...] = (
    ((dict,), _Freezer.dict),
    ((set, frozenset), _Freezer.set),
    ((list, tuple), _Freezer.sequence),
    ((float,), lambda _, _time: None),
    ((Enum,), lambda _, value: value._value_),
    ((str, int), lambda _, value: value),
    ((BaseException,), lambda _, value: type(value).__name__),
    ((LateAnswer,), lambda freezer, value: (value.arrived, freezer.freeze(value.exception() or value.result()))),
)


def _of_fields(names: Sequence[str]) -> _Way:
    """Return how a dataclass with these fields is frozen."""
    if len(names) > 1 and not (TOKENS | KEYS_ONLY).intersection(names):
        values = attrgetter(*names)
        return lambda freezer, value: freezer.sequence(values(value))
    return lambda freezer, value: tuple([freezer.field(name, getattr(value, name)) for name in names])


def _of_attributes(freezer: _Freezer, value: Any) -> Frozen:
    return tuple([freezer.field(name, found) for name, found in vars(value).items() if name not in NOT_STATE])


_PLAIN = _Freezer()


def _freeze(value: Any) -> Frozen:
    return _PLAIN.freeze(value)
