"""Duties that notify others of finished folders (`finish.telling`): one for each policy."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from logpersister.finish.archiving import Archiver
from logpersister.finish.telling import Teller, Telling, Told
from logpersister.finish.topic_records import TopicRecords
from logpersister.finish.webhook import Webhook
from logpersister.manifest import LogPersister
from logpersister.manifest.blocks.finish import ARCHIVE
from logpersister.manifest.secrets import Secrets
from logpersister.member.listener import Listener
from logpersister.report.finish import TellingReport
from logpersister.storage.copies import Copy
from logpersister.storage.store import ObjectStore
from logpersister.storage.untold import UntoldListing

LONGEST_SECONDS: Final = 15.0
"""Longest pause between two looks for due notifications."""
AT_ONCE: Final = 4


class TellDuty:
    """Duty of one recipient. Thread-safe."""

    at_once: Final = AT_ONCE

    def __init__(
        self,
        resource: LogPersister,
        teller: Teller,
        store: ObjectStore,
        listener: Listener,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name = teller.policy
        self._resource = resource
        self._listener = listener
        self._seconds = min(LONGEST_SECONDS, resource.spec.cycle_interval.total_seconds())
        self._telling = telling_of(resource, store, teller, clock)
        self._lock = threading.Lock()
        self._listing = UntoldListing(store, resource.group_id, self.name, self._seconds, clock)
        self._untold: dict[str, int] = {}
        self._report = TellingReport(self.name)

    def concerns(self, topic: str) -> bool:
        return self._resource.spec.for_topic(topic).finish is not None

    def perform(self, topic: str, *, last: bool = False) -> float:
        untold = self._listing.of(topic, anew=last)
        self._show(topic, len(untold), Told())
        if not untold:
            return self._seconds
        told = self._telling.tell(topic, untold)
        self._listing.forget()
        self._show(topic, 0 if not told.more else len(untold), told)
        return 0.0 if told.more else self._seconds

    def forget(self, topic: str) -> None:
        self._show(topic, 0, Told())

    def _show(self, topic: str, untold: int, told: Told) -> None:
        with self._lock:
            self._untold[topic] = untold
            if told.refused:
                self._report = replace(self._report, last_refused=told.refused[-1])
            self._report = replace(
                self._report,
                told=self._report.told + told.folders,
                untold=sum(self._untold.values()),
                refused=self._report.refused + len(told.refused),
            )
            report = self._report
        self._listener.telling(report)
        if told.folders or told.refused:
            self._listener.told(self.name, topic, told.folders, len(told.refused))


def telling_of(
    resource: LogPersister, store: ObjectStore, teller: Teller, clock: Callable[[], float] = time.monotonic
) -> Telling:
    """Return what notifies a recipient: of folders whose archive all stores have, where there are copies."""
    awaits = ARCHIVE if resource.spec.storage.copies and teller.policy != ARCHIVE else None
    return Telling(store, resource.group_id, teller, clock, awaits)


def tellers(
    resource: LogPersister, store: ObjectStore, copies: Sequence[Copy], config: Mapping[str, Any], secrets: Secrets
) -> Sequence[Teller]:
    """Return who is told of finished folders; archives first, since others may wait for them.

    Args:
        copies: further stores of archives.
        config: for clients of the brokers.
    """
    finish = resource.spec.finish
    found: list[Teller] = []
    if finish is None:
        return found
    if ARCHIVE in finish.policy:
        found.append(Archiver(store, resource, copies))
    if finish.webhook is not None:
        found.append(Webhook(finish.webhook, secrets))
    if finish.kafka is not None:
        found.append(TopicRecords(config, finish.kafka.topic))
    return found
