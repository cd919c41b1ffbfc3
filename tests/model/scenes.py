"""The small worlds that are explored: how each begins, and what can happen in it.

No small world has everything: the number of paths grows with the power of the number of faults, and it is few things
together that break a protocol.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial

from logpersister.ranges import TopicPartition
from tests.model.decisions import Fault
from tests.model.member import Manifest
from tests.model.paths import Bounds

TOPIC = "clicks"
PARTITION = TopicPartition(TOPIC, 0)
BYTES_PER_RECORD = {"member-1": 60_000, "member-2": 30_000, "others": 20_000}
"""With `maxBytes` of 64 KiB: the first member cuts ranges of one offset, the second of two, later ones of three; and
none as it did before it had stored some, because a stored record is smaller than they think."""


class Incident(StrEnum):
    """What can happen beside failing requests."""

    CRASH = "crash"
    SILENCE = "silence"
    """A process stands still for so long that the group expels it."""
    MOVE = "move"
    """The group is shared out anew, and the partition is wanted elsewhere."""
    END_OF_GRACE = "end of grace"
    RETENTION = "retention"
    RESET = "reset"
    COPY = "copy"
    """A reset by a tool that keeps the metadata."""
    FALL_BACK = "fall back"
    """Kafka shows an older commit."""
    FAIL_OVER = "fail over"
    """The coordinator stands still and is replaced; it may answer later as if it still were it."""
    GROWTH = "growth"
    FORGET = "forget"
    RECREATION = "recreation"
    FINISH = "finish"
    """More folders are finished, and a record comes."""
    EVOLUTION = "evolution"
    """A record comes that is written by a new version of the schema."""
    BREACH = "breach"
    """The same, by a version that can read none before it."""
    MENDING = "mending"
    """A version is registered that can read all, and members begin anew."""
    REPLAY = "replay"
    """What is in quarantine is accepted by a corrected manifest."""
    HISTORY = "history"
    """What is committed is stored again in the next generation, beside the group."""
    REFUSAL = "refusal"
    """The place of the second manifest takes nothing more, and its members are withdrawn."""


class Kind(StrEnum):
    """What can stand still."""

    TURN = "turn"
    CLIENT = "client"
    JOB = "job"
    PROCESS = "process"


REQUESTS = frozenset(
    {Fault.COMMIT_LOST, Fault.COMMIT_ANSWER_LOST, Fault.COMMIT_OUT_OF_TIME, Fault.PUT_LOST, Fault.PUT_ANSWER_LOST}
)


@dataclass(frozen=True)
class Scene:
    """A small world to begin with, and what can happen in it."""

    name: str
    manifests: tuple[Manifest, ...]
    """Of the members; processes that are started when all are dead have the last."""
    incidents: frozenset[Incident]
    faults: frozenset[Fault] = REQUESTS
    log: tuple[bool, ...] = (True, True, True)
    """Offsets of the partition, with a record or without."""
    finished: int | None = None
    """Up to when folders are finished in the beginning."""
    late: bool = False
    """Whether the second member comes when the first one is at work."""
    pauses: frozenset[Kind] = frozenset({Kind.TURN, Kind.CLIENT, Kind.JOB})
    """What may stand still."""
    bounds: tuple[Bounds, ...] = (Bounds(faults=2, pauses=0),)
    """The tests play every path that is within one of these."""
    bytes_per_record: Mapping[str, int] = field(default_factory=lambda: BYTES_PER_RECORD)
    """By who asks: members who sample, by name, and others: later members, and jobs."""

    @property
    def log_changes(self) -> bool:
        return not self.incidents.isdisjoint({Incident.RETENTION, Incident.RECREATION})


_manifest = partial(Manifest, topics=(TOPIC,))


SCENES = {
    scene.name: scene
    for scene in (
        Scene(
            "crashes",
            (_manifest(), _manifest()),
            frozenset({Incident.CRASH}),
            log=(True, True),
            bounds=(Bounds(faults=2, pauses=0), Bounds(faults=1, pauses=1)),
        ),
        Scene(
            "from hand to hand",
            (_manifest(), _manifest()),
            frozenset({Incident.MOVE, Incident.END_OF_GRACE}),
            log=(True, True),
            bounds=(Bounds(faults=1, pauses=1),),
        ),
        Scene(
            "a member comes",
            (_manifest(), _manifest()),
            frozenset({Incident.SILENCE, Incident.END_OF_GRACE}),
            faults=frozenset(),
            log=(True, True),
            late=True,
            pauses=frozenset({Kind.TURN}),
            bounds=(Bounds(faults=1, pauses=1),),
        ),
        Scene("two revisions", (_manifest(), _manifest(folders=True, by_override=True)), frozenset({Incident.CRASH})),
        Scene(
            "two generations",
            (_manifest(), _manifest(generation=2)),
            frozenset({Incident.CRASH, Incident.MOVE}),
            log=(True, True),
        ),
        Scene("two places", (_manifest(), _manifest(prefix="other")), frozenset({Incident.CRASH})),
        Scene(
            "two places, each with its own keys",
            (_manifest(own_keys=True), _manifest(prefix="other", own_keys=True)),
            frozenset({Incident.CRASH, Incident.MOVE}),
            log=(True, True),
        ),
        Scene(
            "a place takes nothing more",
            (_manifest(), _manifest(prefix="other")),
            frozenset({Incident.CRASH, Incident.MOVE, Incident.REFUSAL}),
            log=(True, True),
        ),
        Scene(
            "records get lost",
            (_manifest(folders=True, on_data_loss="skip"),),
            frozenset({Incident.CRASH, Incident.RETENTION}),
            bytes_per_record={"others": 30_000},
        ),
        Scene(
            "records get lost beside a zombie",
            (_manifest(on_data_loss="skip"), _manifest(on_data_loss="skip")),
            frozenset({Incident.RETENTION, Incident.SILENCE}),
            faults=frozenset(),
            log=(True,),
            late=True,
            pauses=frozenset(),
        ),
        Scene(
            "a schema evolves",
            (_manifest(registry=True, parser=True),),
            frozenset({Incident.CRASH, Incident.EVOLUTION}),
            faults=REQUESTS | {Fault.ANSWER_LATE},
            log=(True, True),
            bounds=(Bounds(faults=2, pauses=0), Bounds(faults=1, pauses=1)),
        ),
        Scene(
            "a version can read none before it",
            (_manifest(registry=True),),
            frozenset({Incident.CRASH, Incident.FORGET, Incident.BREACH, Incident.MENDING}),
            log=(True, True),
        ),
        Scene(
            "folders are finished",
            (_manifest(late=True), _manifest(late=True)),
            frozenset({Incident.CRASH, Incident.FINISH}),
            faults=REQUESTS | {Fault.NOTE_IS_OLD, Fault.NOTE_IS_GONE},
            finished=4,
        ),
        Scene(
            "Kafka forgets while folders are finished",
            (_manifest(late=True),),
            frozenset({Incident.CRASH, Incident.FORGET, Incident.FINISH}),
            faults=frozenset({Fault.PUT_ANSWER_LOST, Fault.NOTE_IS_GONE}),
            finished=4,
        ),
        Scene("a user resets offsets", (_manifest(),), frozenset({Incident.CRASH, Incident.RESET, Incident.COPY})),
        Scene(
            "a former coordinator answers",
            (_manifest(), _manifest(folders=True)),
            frozenset({Incident.CRASH, Incident.FAIL_OVER, Incident.MOVE}),
            faults=frozenset({Fault.FORMER_ANSWERS, Fault.COMMIT_ANSWER_LOST, Fault.COMMIT_OUT_OF_TIME}),
            log=(True, True),
        ),
        Scene(
            "Kafka shows older commits",
            (_manifest(),),
            frozenset({Incident.CRASH, Incident.FALL_BACK, Incident.RETENTION}),
            faults=frozenset({Fault.PUT_ANSWER_LOST}),
            bounds=(Bounds(faults=2, pauses=0),),
        ),
        Scene(
            "a partition is added",
            (_manifest(start_from="latest"), _manifest(start_from="latest")),
            frozenset({Incident.CRASH, Incident.GROWTH, Incident.FORGET}),
            faults=frozenset(),
            log=(True,),
            pauses=frozenset(),
        ),
        Scene(
            "Kafka forgets a group that raises its generation",
            (_manifest(), _manifest(generation=2)),
            frozenset({Incident.CRASH, Incident.FORGET}),
            faults=frozenset({Fault.PUT_ANSWER_LOST}),
            log=(True, True),
        ),
        Scene(
            "Kafka forgets",
            (_manifest(folders=True),),
            frozenset({Incident.CRASH, Incident.FORGET, Incident.RETENTION}),
            log=(True, False, True),
        ),
        Scene(
            "Kafka forgets, and a parser refuses records",
            (_manifest(parser=True),),
            frozenset({Incident.CRASH, Incident.FORGET}),
            bytes_per_record={"others": 30_000},
        ),
        Scene(
            "Kafka forgets what was replayed",
            (_manifest(registry=True, parser=True),),
            frozenset({Incident.FORGET, Incident.REPLAY, Incident.EVOLUTION}),
            faults=frozenset(),
            log=(True, True),
            bounds=(Bounds(faults=3, pauses=0),),
        ),
        Scene(
            "Kafka forgets a group whose history was stored again",
            (_manifest(folders=True), _manifest(generation=2, folders=True)),
            frozenset({Incident.FORGET, Incident.HISTORY}),
            faults=frozenset(),
            log=(True, True, True),
        ),
        Scene(
            "the topic is made again",
            (_manifest(),),
            frozenset({Incident.CRASH, Incident.RECREATION}),
            faults=frozenset(),
            log=(True, True),
            pauses=frozenset({Kind.JOB}),
            bounds=(Bounds(faults=2, pauses=1),),
        ),
        Scene(
            "everything",  # of which the tests leave most to the other scenes
            (_manifest(), _manifest(folders=True)),
            frozenset(Incident)
            - {Incident.REFUSAL, Incident.GROWTH, Incident.EVOLUTION, Incident.REPLAY, Incident.FINISH}
            - {Incident.BREACH, Incident.MENDING, Incident.HISTORY},
            frozenset(Fault),
            bounds=(Bounds(faults=1, pauses=0), Bounds(faults=0, pauses=1)),
        ),
    )
}
