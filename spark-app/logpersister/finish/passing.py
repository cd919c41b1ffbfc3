"""Judges which partitions of a topic have passed an instant: proven by records, or guessed."""

import time
from collections.abc import Callable, Collection, Mapping

from logpersister.finish.positions import Kafka, Positions, first_since, positions_of
from logpersister.finish.watermark import (
    EventWatch,
    Guess,
    Progress,
    QuietWatch,
    StoredWatch,
    guess_of,
    guess_of_event,
    waits_for,
    waits_for_clock,
    waits_for_event,
)
from logpersister.manifest.blocks.finish import FinishSpec
from logpersister.records.type_folders import AnyFolders


class Passing:
    """The partitions of one topic, and the ends of its folders."""

    def __init__(
        self,
        topic: str,
        layout: AnyFolders,
        spec: FinishSpec,
        kafka: Kafka,
        *,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
        assume_idle: bool = False,
    ) -> None:
        self._topic = topic
        self._layout = layout
        self._spec = spec
        self._kafka = kafka
        self._clock = clock
        self._now = now
        self._assume_idle = assume_idle
        self._quiet = QuietWatch()
        self._stored = StoredWatch()
        self._events = EventWatch()

    def over_to(self) -> int:
        """Return the last end of folders that may be finished by the clock, with the lateness that is allowed."""
        return self._layout.last_end(self._now_ms() - self._spec.lateness_ms)

    def positions(self) -> Positions:
        """Ask Kafka how far the partitions are. Raises NotKnownError, KafkaError."""
        return positions_of(self._kafka, self._topic, self._now_ms())

    def progress(self, positions: Positions) -> dict[int, Progress]:
        """Return how far each partition is, and how long it has been quiet by now."""
        quiet = self._quiet.observe(positions.ends, self._clock())
        stored_at = self._stored.observe(positions.ends, positions.offsets(), positions.asked_at)
        newest = positions.newest(self._layout.field_digest)
        without_newer = self._events.observe(newest, stored_at, positions.asked_at)
        if self._assume_idle:
            quiet = dict.fromkeys(quiet, float("inf"))
        return {
            partition: Progress(
                positions.stored_to(partition),
                positions.starts[partition],
                end,
                quiet[partition],
                stored_at.get(partition),
                newest[partition],
                without_newer[partition],
            )
            for partition, end in positions.ends.items()
        }

    def waits(self, positions: Positions, end: int) -> Mapping[int, str]:
        """Return why partitions have not passed the end of a folder, by partition. Raises NotKnownError."""
        instant, progress = end + self._spec.lateness_ms, self.progress(positions)
        idle_after = self._spec.idle_seconds
        if self._spec.trigger == "process-time":
            reasons = {partition: waits_for_clock(one, instant) for partition, one in progress.items()}
        elif self._spec.watches_field(self._layout.field_name):
            reasons = {partition: waits_for_event(one, instant, idle_after) for partition, one in progress.items()}
        else:
            now = self._now_ms()
            first = first_since(self._kafka, self._topic, positions.ends, instant)
            reasons = {
                partition: waits_for(one, first[partition], instant, now, idle_after)
                for partition, one in progress.items()
            }
        return {partition: reason for partition, reason in reasons.items() if reason is not None}

    def guesses(self, positions: Positions, ends: Collection[int]) -> Mapping[int, Mapping[int, Guess]]:
        """Return by which guesses partitions have passed the ends of folders, by end. All have passed them.

        Who has passed an instant by records has passed all before it by records.
        """
        found: dict[int, Mapping[int, Guess]] = {}
        for end in sorted(ends, reverse=True):
            found[end] = {} if self._spec.trigger == "process-time" else self._unproven(positions, end)
            if not found[end]:
                break
        return found

    def not_proven(self, positions: Positions, end: int) -> frozenset[int]:
        """Return which partitions have not passed the end of a folder by what is certain: records, or the clock."""
        by_clock = self._spec.trigger == "process-time"
        return frozenset(self.waits(positions, end) if by_clock else self._unproven(positions, end))

    def _unproven(self, positions: Positions, end: int) -> Mapping[int, Guess]:
        """Return which partitions have passed the end of a folder by a guess, or not yet, by the guess."""
        instant, progress = end + self._spec.lateness_ms, self.progress(positions)
        if self._spec.watches_field(self._layout.field_name):
            found = {partition: guess_of_event(one, instant) for partition, one in progress.items()}
        else:
            now, idle_after = self._now_ms(), self._spec.idle_seconds
            first = first_since(self._kafka, self._topic, positions.ends, instant)
            found = {partition: guess_of(one, first[partition], now, idle_after) for partition, one in progress.items()}
        return {partition: guess for partition, guess in found.items() if guess is not None}

    def _now_ms(self) -> int:
        return int(self._now() * 1000)
