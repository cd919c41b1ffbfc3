"""A member process: the production cycle with the production ownership, and kafka-python's side of the group.

As in a real process, the group's callbacks run beside the cycle: while a turn stands still in the middle, partitions
may come and go.
"""

import traceback
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

from logpersister.aside import at_once
from logpersister.group.internals import UnfencedError
from logpersister.manifest import LogPersister, parse
from logpersister.manifest.revisions.revision import Revision, revision_of
from logpersister.member import ports
from logpersister.member.bounded import BoundedLog, Replay, SourcedJobs
from logpersister.member.cycle import Cycle
from logpersister.storage.errors import StorageError
from tests.model.bucket import GROUP
from tests.model.chronicle import Violation
from tests.model.client import Client
from tests.model.decisions import Place
from tests.model.jobs import OFFSETS_PER_FOLDER
from tests.model.ports import (
    AsidePort,
    GroupPort,
    HorizonsPort,
    JobsPort,
    OffsetsPort,
    RegisterPort,
    Sampler,
    SchemasPort,
    StateStorePort,
)
from tests.model.processes import Process
from tests.model.surroundings import Surroundings

T = TypeVar("T")


@dataclass(frozen=True)
class Manifest:
    """What differs between the manifests of one group."""

    generation: int = 1
    folders: bool = False
    """Partition paths: a range becomes several objects. Another layout is another revision, not another generation."""
    on_data_loss: str = "fail"
    start_from: str = "earliest"
    topics: tuple[str, ...] = ("clicks", "orders")
    prefix: str = "raw"
    own_keys: bool = False
    """Keys that are for this prefix only; else they are for every prefix."""
    registry: bool = False
    """Rows are made by the latest schema of a registry."""
    parser: bool = False
    """Some records are refused, and stored in quarantine."""
    late: bool = False
    """Folders by time are finished, and what comes late is put into others."""
    by_override: bool = False
    """What is said of folders is said by an entry of the overrides, for all topics, and the group has the opposite."""

    def __str__(self) -> str:
        layout = "folders" if self.folders else "no folders"
        told = f"generation {self.generation}, {layout}, onDataLoss: {self.on_data_loss}, prefix: {self.prefix}"
        told += ", with a registry" * self.registry + ", with a parser" * self.parser
        return told + ", late records apart" * self.late

    @lru_cache(maxsize=64)  # noqa: B019 - a handful of frozen manifests
    def resource(self) -> tuple[LogPersister, Revision]:
        layouts = [{"partitionBy": []}, {"partitionBy": [{"offset": {"every": OFFSETS_PER_FOLDER}}]}]
        finish = {"finish": {"late": "folder"}} if self.late else {}
        if self.late:
            layouts = [{"partitionBy": [{"date": {"granularity": "hour"}}]}] * 2
        overrides = [{"topics": sorted(self.topics), "output": layouts[self.folders]}] if self.by_override else []
        keys = {"secretName": self.prefix} if self.own_keys else {}
        declared = {"registry": {"url": "http://127.0.0.1:8081"}} if self.registry else {}
        resource = parse(
            {
                "apiVersion": "logpersister.dev/v1alpha1",
                "kind": "LogPersister",
                "metadata": {"name": GROUP},
                "spec": {
                    "generation": self.generation,
                    "kafka": {
                        "bootstrapServers": "127.0.0.1:9092",
                        "topics": sorted(self.topics),
                        "onDataLoss": self.on_data_loss,
                        "startFrom": self.start_from,
                    },
                    "storage": {"bucket": "logs", "prefix": self.prefix} | keys,
                    "output": layouts[self.folders != self.by_override],
                    "overrides": overrides,
                    "upload": {"maxBytes": "64Ki", "maxAge": "2s"},
                    "cycleInterval": "1s",
                }
                | finish
                | ({"value": {"json" if self.parser else "avro": declared}} if self.parser or self.registry else {}),
            }
        )
        return resource, revision_of(resource, "1.0")


class Member:
    """One process."""

    def __init__(self, name: str, manifest: Manifest, around: Surroundings, replay: Replay | None = None) -> None:
        """Begin; with a replay, as the member that stores it (`member.assembly`)."""
        self.name = name
        self.manifest = manifest
        self.client = Client(name, around)
        self._around = around
        resource, revision = manifest.resource()
        around.chronicle.tell(name, "starts: {} (revision {})", manifest, revision.hash)
        self._aside = AsidePort(self, around)
        offsets: ports.Offsets = OffsetsPort(self, around)
        jobs: ports.Jobs = JobsPort(name, self, around)
        if replay is not None:
            offsets, jobs = BoundedLog(offsets, replay), SourcedJobs(jobs, replay)
        dependencies = ports.Dependencies(
            GroupPort(self, self.client, around),
            RegisterPort(self, self.client, around),
            offsets,
            StateStorePort(name, self, around, resource, None if replay is None else replay.bounds),
            jobs,
            Sampler(name, around),
            SchemasPort(self, around) if manifest.registry else None,
            horizons=HorizonsPort(self, around) if manifest.late else ports.NoHorizons(),
            aside=self._aside if manifest.registry else at_once,
        )
        now = self._now
        self.cycle = Cycle(resource, revision, dependencies, clock=now, now=now)
        if replay is not None:
            self.cycle.resolver.start_offsets.begin_at = replay.begin_at
            self.cycle.cut_behind = replay.cut_behind
            self.cycle.targets = {partition: range_.end for partition, range_ in replay.bounds.items()}
        self.client.look_at_topics()
        self.process = Process(self._turn)
        self.seen: list[object] = []
        """What the turn that goes on was told so far."""
        self.turn_began = 0.0
        self.waits_until = 0.0
        """When a request of the cycle is answered; the client goes on meanwhile."""
        self.stopped = False
        """Whether the whole process stands still (SIGSTOP, a long pause): neither the cycle nor the client moves."""

    def _now(self) -> float:
        return self._around.chronicle.time

    def saw(self, answer: T) -> T:
        """Note what the cycle is told."""
        self.seen.append(answer)
        return answer

    def may_stand_still(self, where: Place) -> None:
        """Stop in the middle of the turn until the world lets it go on: others do what they do meanwhile."""
        self.seen.append(where)
        if self._around.decisions.stands_still(where):
            self.waits_until = self._now() + self._around.decisions.silence()
            self.process.pause()
        self.seen.append(self._now() > self.turn_began)

    def _turn(self) -> None:
        self.seen.clear()
        self._aside.begin_turn()
        self.turn_began = self._now()
        try:
            self.cycle.turn()
        except (
            ConnectionError,
            UnfencedError,
            StorageError,
            Violation,
        ) as error:  # as member/process.py: the next round tries again
            self._around.chronicle.tell(self.name, "gives up a turn: {}", type(error).__name__)
        except Exception:  # noqa: BLE001 - a finding, which the world raises
            self._around.chronicle.note(traceback.format_exc())
