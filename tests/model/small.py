"""Small worlds, in which everything that can happen is tried.

A world runs by itself in one fixed order: whoever has something to do does it, until all is at rest. Before each step
there is a decision: let it happen; let something else that stood still go on; or deviate by a *fault* (a crash, an
expulsion, …) or a *pause* (what would go on stands still, until another decision or until nothing else can happen).
"""

from collections.abc import Callable, Iterator, Sequence

from logpersister.ranges import TopicPartition
from tests.model.chronicle import Chronicle
from tests.model.member import Member
from tests.model.paths import Cost, Deviations, Option, Path
from tests.model.rules import Rules
from tests.model.scenes import PARTITION, TOPIC, Incident, Kind, Scene
from tests.model.world import SimulatedWorld

PACE = 1000.0
"""Seconds from turn to turn: whatever production waits for is due by then."""
MOST_TURNS_IN_VAIN = 20
MOST_FINISHED = 8
"""Of the times of the first three records (0, 7 and 3), two are finished in the beginning of a scene, and then all."""


class AtRest(Exception):  # noqa: N818 - it is the normal end
    """Nothing is left to happen."""


Paused = tuple[Kind, str]
Choice = tuple[Option, Callable[[], object]]
Follower = tuple[Choice, Paused | None]


class Small(SimulatedWorld):
    """A small world on one path. `run` plays it to its end; its members may stand still then, so `close` it."""

    def __init__(self, scene: Scene, path: Path, title: str, rules: Rules | None = None) -> None:
        self.scene = scene
        self.path = path
        self.moving = False
        """Whether the leader wants somebody else to have the partition."""
        self.wanted_by: str | None = None
        """Who shall have it when its owner has given it up."""
        self.paused: list[Paused] = []
        """What stands still, with its name."""
        self.cycles: dict[str, object] = {}
        """Kept for fingerprints: the cycle of each member as it was before the turn that goes on, or is."""
        self.before_turn: Callable[[Member], object] = lambda _member: None
        self.next_turn = 0
        self.turns_in_vain = 0
        super().__init__(
            Chronicle(title),
            path,
            rules or Rules(),
            topics={TOPIC: 1},
            wish=self._wish,
            manifest=scene.manifests[0],
            grace_seconds=float("inf"),
        )
        path.turns_go_on = not scene.late
        self.kafka.produce(PARTITION, scene.log)
        if scene.finished is not None:
            self.finished.finish(TOPIC, scene.finished)
        for self.manifest in scene.manifests[:1] if scene.late else scene.manifests:
            self.start()

    def run(self, on_decision: Callable[[], None]) -> None:
        """Play to the end; raises Violation when a promise is broken.

        Args:
            on_decision: called before each decision of who goes on; may raise, to end the play.
        """
        try:
            while True:
                self._step(on_decision)
                self.check()
        except AtRest:
            self.check()
        self.path.closed = True
        self.decide()
        self.settle(rounds=1000, pace=PACE)

    # who goes on

    def _step(self, on_decision: Callable[[], None]) -> None:
        if self.path.is_settled():
            _, action = next(self._choices())
        else:
            on_decision()
            choices = list(self._choices())
            _, action = choices[self.path.decide([option for option, _ in choices])]
        action()

    def _choices(self) -> Iterator[Choice]:
        """Yield what can happen now, first what happens by itself."""
        resumptions = [self._resumption(paused) for paused in self.paused]
        following = self._following()
        if following is not None:
            choice, may_pause = following
            yield choice
            yield from resumptions
            if may_pause is not None and may_pause[0] in self.scene.pauses:
                yield self._pause(may_pause)
        else:
            endings = [(option._replace(cost=Cost.FREE), action) for option, action in self._ends_of_grace()]
            if not resumptions and not endings:
                yield Option("all is at rest"), self._rest
            yield from resumptions
            yield from endings
        yield from self._incidents()

    def _following(self) -> Follower | None:
        """Return who goes on by himself, and what of him can stand still instead."""
        if not self.members:
            return self._choice("a process starts", self.start), None
        return next(self._busy(), None) or self._following_turn()

    def _busy(self) -> Iterator[Follower]:
        """Yield who has something to do, the first one first."""
        for member in self._going(Kind.TURN):
            if member.process.in_the_middle:
                if self.scene.late and self.started == 1 and member.client.ownership.tokens():
                    yield self._choice("another member comes", self._start_late), None
                what = f"{member.name} goes on with its turn"
                yield self._choice(what, self._turn, member), (Kind.TURN, member.name)
        for member in self._going(Kind.CLIENT):
            if member.client.ready():
                what = f"{member.name} does its part in the group"
                yield self._choice(what, member.client.proceed), (Kind.CLIENT, member.name)
        for member_id in self.dead():
            yield self._choice(f"the session of {member_id} ends", self.expel, member_id), None
        if self.coordinator.can_complete():
            yield self._choice("the next group generation begins", self.complete), None
        for index, (_, job) in enumerate(self.spark.running):
            if (Kind.JOB, job.name) not in self.paused:
                yield self._choice(f"{job.name} goes on", self.spark.advance, index), (Kind.JOB, job.name)

    def _start_late(self) -> None:
        self.start()
        self.path.turns_go_on = True

    def _following_turn(self) -> Follower | None:
        going = self._going(Kind.TURN)
        if not going or self.is_current():
            return None
        most = 2 * len(going) if self.paused else MOST_TURNS_IN_VAIN
        if self.turns_in_vain >= most:
            if not self.paused:
                self.chronicle.violated(f"it never comes to rest: {self.kafka.commits}")
            return None
        member = going[self.next_turn % len(going)]
        return self._choice(f"{member.name} begins a turn", self._turn, member), (Kind.TURN, member.name)

    def _going(self, kind: Kind) -> list[Member]:
        return [member for member in self.awake() if (kind, member.name) not in self.paused]

    def _choice(self, what: str, action: Callable[..., object], *arguments: object) -> Choice:
        def act() -> None:
            self.turns_in_vain *= action == self._turn
            action(*arguments)

        return Option(what), act

    def _turn(self, member: Member) -> None:
        if not member.process.in_the_middle:
            self.chronicle.time += PACE
            self.next_turn = self._going(Kind.TURN).index(member) + 1
            self.before_turn(member)
        member.process.proceed()
        if not member.process.in_the_middle:
            self.turns_in_vain += 1
            self.cycles.pop(member.name, None)

    def _rest(self) -> None:
        raise AtRest

    # who stands still

    def _pause(self, what: Paused) -> Choice:
        def pause() -> None:
            self.chronicle.tell("schedule", "the {} of {} stands still", *what)
            self.paused.append(what)

        return Option(f"the {what[0]} of {what[1]} stands still", Cost.PAUSE), pause

    def _resumption(self, what: Paused) -> Choice:
        def go_on() -> None:
            self.turns_in_vain = 0
            self.paused.remove(what)
            if what[0] is Kind.PROCESS:
                self.go_on(self.members[what[1]])
            else:
                self.chronicle.tell("schedule", "the {} of {} goes on", *what)

        return Option(f"the {what[0]} of {what[1]} goes on"), go_on

    # what else can happen

    def _incidents(self) -> Iterator[Choice]:
        happens = self.scene.incidents
        for member in list(self.members.values()):
            if Incident.CRASH in happens:
                yield self._incident(f"{member.name} is killed", self._crash, member, False)
                if any(owner == member.name for owner, _ in self.spark.running):
                    yield self._incident(f"{member.name} is killed with its jobs", self._crash, member, True)
            owns = bool(member.client.ownership.tokens())
            if Incident.SILENCE in happens and owns and not member.stopped and member.client.is_known:
                yield self._incident(f"{member.name} falls silent", self._silence, member)
        owned = any(member.client.ownership.tokens() for member in self.members.values())
        if Incident.REFUSAL in happens and not self.bucket.refusing:
            yield self._incident("a place takes nothing more", self._refuse, self.scene.manifests[-1].prefix)
        if Incident.MOVE in happens and owned and not self.coordinator.rebalancing and len(self.coordinator.known) > 1:
            yield self._incident("the partition is to move", self._move)
        if Incident.END_OF_GRACE in happens:
            yield from self._ends_of_grace()
        yield from self._of_kafka()
        yield from self._of_users()

    def _of_users(self) -> Iterator[Choice]:
        happens, log = self.scene.incidents, self.kafka.log(PARTITION)
        if Incident.RESET in happens:
            for offset in range(log.start, log.end + 1):
                yield self._incident(f"a user sets the offset to {offset}", self.reset, PARTITION, offset)
        if Incident.REPLAY in happens:
            for key in self.replayable():
                yield self._incident(f"what is refused of [{key.start}, …) is replayed", self.bucket.replay, key)
        if Incident.HISTORY in happens and self.can_replay_history(PARTITION):
            yield self._incident("history is stored again", self._replay_history, False)
            yield self._incident("history is stored again, and the old is deleted", self._replay_history, True)
        if Incident.COPY in happens and PARTITION in self.kafka.commits:
            for offset in sorted(set(range(log.start, log.end + 1)) - {self.kafka.commits[PARTITION][0]}):
                yield self._incident(f"a tool sets the offset to {offset} beside what stood there", self._copy, offset)
        if Incident.GROWTH in happens and self.kafka.topics == {TOPIC: 1}:
            yield self._incident("a partition is added", self._grow)
        if Incident.RECREATION in happens:
            yield self._incident("the topic is made again", self._recreate, False)
            if self.kafka.commits:
                yield self._incident("the topic is made again, and its offsets go", self._recreate, True)

    def _of_kafka(self) -> Iterator[Choice]:
        happens, log = self.scene.incidents, self.kafka.log(PARTITION)
        if Incident.EVOLUTION in happens and not self.registry.versions:
            yield self._incident("the schema evolves", self.evolve, PARTITION)
        if Incident.BREACH in happens and not self.registry.versions:
            yield self._incident("the schema evolves, and can read nothing before", self.break_schema, PARTITION)
        if Incident.MENDING in happens and self.registry.to_mend():
            yield self._incident("the schema is mended", self._mend)
        if Incident.FINISH in happens and self.finished.to(TOPIC) < MOST_FINISHED:
            yield self._incident("more folders are finished", self._finish)
        if Incident.RETENTION in happens:
            for count in range(1, log.end - log.start + 1):
                yield self._incident(f"Kafka deletes {count} offsets", self.retain, PARTITION, count)
        if Incident.FALL_BACK in happens:
            for index, older in enumerate(self.kafka.past):
                if older not in list(self.kafka.past)[:index]:
                    yield self._incident(f"Kafka shows {older.get(PARTITION)} again", self.fall_back, older)
        if Incident.FAIL_OVER in happens and self.coordinator.former is None:
            yield self._incident("the coordinator stands still", self.fail_over)
        if Incident.FORGET in happens and self.kafka.commits:
            yield self._incident("Kafka forgets the group", self.forget)

    def _incident(self, what: str, action: Callable[..., object], *arguments: object) -> Choice:
        (option, act) = self._choice(what, action, *arguments)
        return option._replace(cost=Cost.FAULT), act

    def _ends_of_grace(self) -> Iterator[Choice]:
        for member in self._going(Kind.CLIENT):
            if member.client.waits_for_ranges():
                option, act = self._choice(f"the grace of {member.name} is over", member.client.end_grace)
                yield option._replace(cost=Cost.PAUSE), act

    def _crash(self, member: Member, jobs_too: bool) -> None:
        self.crash(member, jobs_too=jobs_too)
        self.paused = [what for what in self.paused if what[0] is Kind.JOB or what[1] != member.name]
        self._forget_ended_jobs()

    def _refuse(self, prefix: str) -> None:
        self.refuse(prefix, self.scene.manifests[0])
        self.paused = [what for what in self.paused if what[0] is Kind.JOB or what[1] in self.members]

    def _silence(self, member: Member) -> None:
        self.stop(member)
        self.paused.append((Kind.PROCESS, member.name))
        self.expel(member.client.member_id)

    def _move(self) -> None:
        self.chronicle.tell("group", "is shared out anew")
        self.moving = True
        self.coordinator.rebalance()

    def _wish(self, partition: TopicPartition, claiming: Sequence[str], joined: Sequence[str]) -> str:
        """Let owners keep what they have, unless it is to move; what nobody has, anybody may get."""
        others = [member for member in joined if member not in claiming]
        if claiming and self.moving and others:
            self.moving, self.wanted_by = False, others[0]
            return others[0]
        candidates = sorted(claiming or joined, key=lambda member: member != self.wanted_by)
        return candidates[self.path.decide([Option(f"{member} gets it") for member in candidates])]

    def _copy(self, offset: int) -> None:
        self.reset(PARTITION, offset, keeps_metadata=True)

    def _replay_history(self, deletes_old: bool) -> None:
        self.replay_history(PARTITION, deletes_old=deletes_old)

    def _grow(self) -> None:
        """A partition with a record; the leader does not see it before the next rebalance."""
        self.grow(TOPIC)
        added = TopicPartition(TOPIC, 1)
        self.kafka.produce(added, [True])
        self.see_all()

    def _mend(self) -> None:
        self.mend_schemas()
        self.paused = [what for what in self.paused if what[0] is Kind.JOB or what[1] in self.members]

    def _finish(self) -> None:
        """Another one comes to be late, and a record comes."""
        self.finished.finish(TOPIC, MOST_FINISHED)
        self.kafka.produce(PARTITION, [True])

    def _recreate(self, forgets: bool) -> None:
        self.kafka.recreate(TOPIC, lambda: forgets)
        self.may_be_held.add("topic-recreated")
        self.kafka.produce(PARTITION, self.scene.log[:2])

    def end_all(self) -> None:
        super().end_all()
        self.paused = []

    def _forget_ended_jobs(self) -> None:
        running = {job.name for _, job in self.spark.running}
        self.paused = [what for what in self.paused if what[0] is not Kind.JOB or what[1] in running]


def title(scene: Scene, deviations: Deviations) -> str:
    """Return how to play this path again."""
    told = ",".join(f"{number}:{option}" for number, option in deviations) or "none"
    return f"{scene.name}: python -m tests.model --scene {scene.name!r} --deviations {told}"
