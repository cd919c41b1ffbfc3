"""Who decides what happens where more than one thing can: chance, or a search that tries everything."""

import random
from enum import StrEnum
from typing import Protocol

LONGEST_SILENCE_SECONDS = 60.0
BYTES_PER_RECORD = (12_000, 20_000, 40_000)
"""With `maxBytes` of 64 KiB: a range has one to five records. Nobody cuts a backlog twice in the same way."""


class Fault(StrEnum):
    """What can go wrong with a request."""

    COMMIT_LOST = "a commit gets lost"
    COMMIT_ANSWER_LOST = "a commit arrives and its answer gets lost"
    COMMIT_OUT_OF_TIME = "a commit without an answer is not sent again"
    KAFKA_SILENT = "a question to Kafka gets lost"
    NO_LEADER = "a partition has no leader, or it does not answer"
    FORMER_ANSWERS = "the former coordinator answers"
    PUT_LOST = "a put gets lost"
    PUT_ANSWER_LOST = "a put is done and its answer gets lost"
    BUCKET_SILENT = "another request to the bucket gets lost"
    REGISTRY_SILENT = "a question to the schema registry gets lost"
    ANSWER_LATE = "the answer of a server that only some topics need comes after the turn that asked"
    NOTE_IS_OLD = "an old note is read of what is finished"
    NOTE_IS_GONE = "no note is read of what is finished"


OF_THE_BUCKET = frozenset({Fault.PUT_LOST, Fault.PUT_ANSWER_LOST, Fault.BUCKET_SILENT})
OF_THE_NOTE = frozenset({Fault.NOTE_IS_OLD, Fault.NOTE_IS_GONE})


class Place(StrEnum):
    """Where a turn waits for the network, and others may do what they do meanwhile."""

    BEFORE_COMMIT = "before its commit"
    COMMIT_QUEUED = "in the middle of its commit, in this process"
    COMMIT_SENT = "in the middle of its commit, on the way to Kafka"
    ASKED_COMMITTED = "while the answer of where the group stands is on its way"
    ASKED_LOG = "while the answer of what the log has is on its way"
    ASKED_SCHEMA = "while the answer of the schema registry is on its way"
    NOTING = "while a document, or its answer, is on its way to the bucket"
    LISTED = "while the listing of the bucket is on its way"


class Decisions(Protocol):
    """Asked wherever the world could go on in more than one way."""

    def fails(self, fault: Fault) -> bool:
        """Whether this request meets this fault."""

    def stands_still(self, where: Place) -> bool:
        """Whether the turn lets others go first."""

    def silence(self) -> float:
        """How many seconds it stands still at least."""

    def bytes_per_record(self, who: str) -> int:
        """How large a record is for who samples it, or for the job that stores it."""


class Chances:
    """Decides by a seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.restlessness = 0.2
        """How likely a turn stands still at a place where it waits for the network."""
        self.slow_commits = 0.0
        """The same in the middle of commits, where it is more."""
        self.hanging = 0.15
        """How likely that takes long."""
        self.unreliability = 0.05
        """How likely a request to Kafka, or its answer, is lost."""
        self.staleness = 0.5
        """How likely the former coordinator answers, where there is one."""
        self.failing = 0.0
        """How likely a request to the bucket, or its answer, is lost."""

    def happens(self, likelihood: float) -> bool:
        return likelihood > 0 and self.random.random() < likelihood

    def fails(self, fault: Fault) -> bool:
        if fault is Fault.FORMER_ANSWERS:
            return self.happens(self.staleness)
        if fault in OF_THE_NOTE or fault is Fault.ANSWER_LATE:
            return self.happens(0.3)
        return self.happens(self.failing if fault in OF_THE_BUCKET else self.unreliability)

    def stands_still(self, where: Place) -> bool:
        return self.happens((where is Place.COMMIT_QUEUED and self.slow_commits) or self.restlessness)

    def silence(self) -> float:
        return self.random.random() * LONGEST_SILENCE_SECONDS if self.happens(self.hanging) else 0.0

    def bytes_per_record(self, who: str) -> int:
        return self.random.choice(BYTES_PER_RECORD)
