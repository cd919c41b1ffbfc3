"""kafka-python's side of the group, with our listener, as `group/membership.py` uses it."""

from collections.abc import Iterable, Mapping
from enum import Enum

from logpersister.group.ownership import Ownership
from logpersister.ranges import TopicPartition
from tests.model.surroundings import Surroundings


class Phase(Enum):
    """Where kafka-python stands in its group protocol."""

    OUT = "out"
    JOINING = "joining"
    REVOKING = "revoking"
    GIVING_UP = "giving up"
    STABLE = "stable"


class Client:
    """The coordinator's client: runs beside the cycle, as in a real process."""

    def __init__(self, name: str, around: Surroundings) -> None:
        self.name = name
        self.ownership = Ownership()
        self._around = around
        self._incarnation = 0
        self.phase = Phase.OUT
        self.generation = -1
        self.share: set[TopicPartition] = set()
        self.given_last: set[TopicPartition] = set()
        self.sees: Mapping[str, int] = {}
        """Its own view of how many partitions there are."""
        self._deadline = 0.0

    @property
    def member_id(self) -> str:
        return f"{self.name}.{self._incarnation}"

    @property
    def may_commit(self) -> bool:
        """Whether kafka-python sends commits: while it joins, it does not."""
        return self.phase in (Phase.STABLE, Phase.REVOKING, Phase.GIVING_UP)

    @property
    def is_known(self) -> bool:
        return self.member_id in self._around.coordinator.known

    def ready(self) -> bool:
        """Whether there is something to do."""
        match self.phase:
            case Phase.OUT:
                return bool(self.ownership.tokens()) or not self._waits_for_commits()
            case Phase.JOINING:
                return not self.is_known or self.member_id in self._around.coordinator.answers
            case Phase.REVOKING:
                return not self.waits_for_ranges()
            case Phase.GIVING_UP:
                return not self._waits_for_commits()
            case Phase.STABLE:
                return not self.is_known or self._around.coordinator.rebalancing or self._misses_partitions()

    def proceed(self) -> None:
        """Do the next step that the client's I/O thread would do."""
        if not self.ready():
            return
        match self.phase:
            case Phase.OUT:
                self._join_anew()
            case Phase.JOINING if self.is_known:
                self._sync()
            case Phase.REVOKING:
                self._revoke()
            case Phase.GIVING_UP:
                self._gave_up()
            case Phase.STABLE if self.is_known:
                if self._misses_partitions():
                    self._around.coordinator.rebalance()
                self._join()
            case _:
                self._hear_of_expulsion()

    def look_at_topics(self) -> None:
        """Its view of the topics is renewed."""
        self.sees = dict(self._around.kafka.topics)

    def _misses_partitions(self) -> bool:
        """Whether the present assignment was computed from fewer partitions than this member sees."""
        shared_out = self._around.coordinator.shared_out
        more = any(count > shared_out.get(topic, 0) for topic, count in self.sees.items())
        return more and self._around.rules.every_member_watches

    def waits_for_ranges(self) -> bool:
        """Whether a revocation waits for ranges that are being executed."""
        if self.phase is not Phase.REVOKING or self._around.chronicle.time >= self._deadline:
            return False
        return self.ownership.is_busy(set(self._revoked()))

    def end_grace(self) -> None:
        """The revocation has waited long enough."""
        self._deadline = self._around.chronicle.time

    def _waits_for_commits(self) -> bool:
        return self._around.rules.revocation_waits_for_commits and self.ownership.is_committing()

    def _hear_of_expulsion(self) -> None:
        """The broker does not know this member any more, and has said so."""
        if self.phase is Phase.JOINING and not self._around.rules.losses_are_told:
            self._incarnation += 1
            self._join()
            return
        self._around.chronicle.tell(self.name, "hears that it was expelled")
        self.generation = -1
        self.phase = Phase.OUT

    def _join_anew(self) -> None:
        lost = set(self.ownership.tokens())
        if lost:
            self._tell("lost", lost)
            self.ownership.lose(lost)
        if not self._waits_for_commits():
            self._incarnation += 1
            self._join()

    def _join(self) -> None:
        owned = set(self.ownership.tokens())
        claims = owned if self._around.rules.true_claims else owned | self.given_last
        self._around.coordinator.join(self.member_id, claims)
        self.phase = Phase.JOINING

    def _sync(self) -> None:
        self.generation, share = self._around.coordinator.answers[self.member_id]
        self.share, self.given_last = set(share), set(share)
        revoked = self._revoked()
        if not revoked:
            self._gain()
            self.phase = Phase.STABLE
            return
        self._tell("has to give up", revoked)
        self.ownership.begin_revocation(revoked)
        self._deadline = self._around.chronicle.time + self._around.grace_seconds
        self.phase = Phase.REVOKING

    def _revoked(self) -> set[TopicPartition]:
        return set(self.ownership.tokens().keys() - self.share)

    def _revoke(self) -> None:
        revoked = self._revoked()
        self._tell("gives up", revoked)
        self.ownership.lose(revoked)
        self.phase = Phase.GIVING_UP

    def _gave_up(self) -> None:
        self._gain()
        self.phase = Phase.STABLE
        self._around.coordinator.rebalance()

    def _gain(self) -> None:
        added = self.share - self.ownership.tokens().keys()
        if added:
            self._tell("is given", added)
            self.ownership.gain(sorted(added))

    def _tell(self, what: str, partitions: Iterable[TopicPartition]) -> None:
        self._around.chronicle.tell(self.name, "{} {}", what, ", ".join(map(str, sorted(partitions))))
