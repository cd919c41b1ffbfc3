"""The duty that finishes folders (docs/design/finish.md), for the topics whose partition 0 this member owns."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

import structlog

from logpersister.finish.look import Finished, Look, TopicFolders
from logpersister.finish.positions import Kafka
from logpersister.finish.watermark import Guess
from logpersister.manifest import LogPersister
from logpersister.manifest.rules.table_rules import registration
from logpersister.member.listener import Listener
from logpersister.records.type_folders import finished_folders
from logpersister.report.finish import FinishReport, GuessedFolder, WaitingFolder
from logpersister.storage.finished import list_arrivals
from logpersister.storage.store import ObjectStore

log = structlog.get_logger(__name__)

LONGEST_SECONDS: Final = 30.0
"""Longest pause between two looks at a topic."""


class FinishDuty:
    """Finishes folders; one thread calls it."""

    name = "finish"
    at_once: Final = 1

    def __init__(
        self,
        resource: LogPersister,
        kafka: Kafka,
        store: ObjectStore,
        listener: Listener,
        *,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._resource = resource
        self._kafka = kafka
        self._store = store
        self._listener = listener
        self._clock = clock
        self._now = now
        self._seconds = min(LONGEST_SECONDS, 3 * resource.spec.cycle_interval.total_seconds())
        self._topics: dict[str, TopicFolders | None] = {}
        self._settled: dict[str, int] = {}
        self._arrivals: dict[str, Sequence[str]] = {}
        self._arrivals_at = float("-inf")
        self._report = FinishReport()

    def concerns(self, topic: str) -> bool:
        return self._folders_of(topic) is not None

    def perform(self, topic: str, *, last: bool = False) -> float:
        if last:
            self._arrivals_at = float("-inf")
        folders, arrivals = self._folders_of(topic), self._arrivals_of(topic)
        if folders is None or (not arrivals and self._settled.get(topic, -1) >= folders.passing.over_to()):
            return self._seconds
        look = folders.look(arrivals)
        self._arrivals.pop(topic, None)  # some are deleted now; the next listing is soon
        if look.settled_to is not None:
            self._settled[topic] = look.settled_to
        self._tell(topic, look)
        return 0.0 if look.more else self._seconds

    def forget(self, topic: str) -> None:
        self._topics.pop(topic, None)
        self._settled.pop(topic, None)
        self._wait(topic, None)

    def _folders_of(self, topic: str) -> TopicFolders | None:
        if topic not in self._topics:
            self._topics[topic] = self._new(topic)
        return self._topics[topic]

    def _new(self, topic: str) -> TopicFolders | None:
        spec = self._resource.spec.for_topic(topic)
        found = finished_folders(spec)
        if found is None:
            return None
        finish, layout = found
        return TopicFolders(
            topic,
            layout,
            finish,
            self._kafka,
            self._store,
            self._resource.group_id,
            generation=spec.generation,
            clock=self._clock,
            now=self._now,
            registers=registration(spec) == "onFinish",
            awaits_copies=bool(spec.storage.copies),
        )

    def _arrivals_of(self, topic: str) -> Sequence[str]:
        """Return the notes of arrivals of a topic: one listing for all topics, once in a while."""
        if self._clock() - self._arrivals_at >= self._seconds:
            self._arrivals = dict(list_arrivals(self._store, self._resource.group_id))
            self._arrivals_at = self._clock()
        return self._arrivals.get(topic, ())

    def _tell(self, topic: str, look: Look) -> None:
        for finished in look.finished:
            if finished.published.changed:
                self._tell_finished(topic, finished)
        for published in (*look.finished, *look.late):
            self._tell_late(topic, published)
        waiting = look.waiting
        end = None if waiting is None else datetime.fromtimestamp(waiting.end / 1000, UTC)
        self._wait(topic, None if waiting is None or end is None else (waiting.path, end, look.reason))

    def _tell_finished(self, topic: str, finished: Finished) -> None:
        path, guesses = finished.folder.path, partitions_by(finished.guesses)
        log.info("folder.finished", topic=topic, folder=path, **guesses)
        report = replace(self._report, finished=self._report.finished + 1)
        if guesses:
            report = replace(report, guessed=report.guessed + 1, last_guessed=GuessedFolder(topic, path, guesses))
        self._report = report
        self._listener.folder_finished(topic, guessed=bool(guesses))

    def _tell_late(self, topic: str, late: Finished) -> None:
        records = late.published.late_records
        if not records:
            return
        log.warning(
            "folder.late_records",
            topic=topic,
            folder=late.folder.path,
            records=records,
            objects=late.published.late_objects,
            number=late.published.number,
        )
        self._report = replace(self._report, late_records=self._report.late_records + records)
        self._listener.late(topic, records)

    def _wait(self, topic: str, waiting: tuple[str, datetime, str] | None) -> None:
        others = {name: one for name, one in (self._report.waiting or {}).items() if name != topic}
        mine = {} if waiting is None else {topic: WaitingFolder(topic, *waiting)}
        self._report = replace(self._report, waiting=others | mine)
        self._listener.finish(self._report)


def partitions_by(guesses: Mapping[int, Guess]) -> dict[str, list[int]]:
    """Return the partitions of each guess, by its name."""
    found: dict[str, list[int]] = {}
    for partition, guess in sorted(guesses.items()):
        found.setdefault(guess.value, []).append(partition)
    return found
