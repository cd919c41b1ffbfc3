"""Partition ownership: tokens, and what a revocation waits for. This process's own fence.

The broker fences a commit by member and group generation, not by partition. So each assignment of a partition gets a
*token*; a commit names the token it was made under, and once a revocation has returned no commit under that token
leaves this process (docs/design/intents.md). No I/O; any thread may call.
"""

import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from logpersister.group.answers import CommitOutcome
from logpersister.plan.partitions import Commit
from logpersister.ranges import TopicPartition


class Ownership:
    """Tokens of the partitions that the group gave us; one lock around all of it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tokens: dict[TopicPartition, int] = {}
        self._next_token = 1
        self._revoking: set[TopicPartition] = set()
        self._busy: set[TopicPartition] = set()
        self._commits_in_flight = 0

    def tokens(self) -> dict[TopicPartition, int]:
        """Return the token of every partition that is ours, those that are being revoked too."""
        with self._lock:
            return dict(self._tokens)

    def gain(self, partitions: Iterable[TopicPartition]) -> None:
        with self._lock:
            for partition in partitions:
                self._tokens[partition] = self._next_token
                self._next_token += 1

    # work

    def retain(self, partitions: Mapping[TopicPartition, int]) -> set[TopicPartition]:
        """Note that ranges of these partitions are about to be executed; return those that may be."""
        with self._lock:
            allowed = {p for p, token in partitions.items() if self._tokens.get(p) == token and p not in self._revoking}
            self._busy |= allowed
            return allowed

    def release(self, partitions: Iterable[TopicPartition]) -> None:
        """Note that nothing of these partitions is being executed, and what was stored is committed."""
        with self._lock:
            self._busy -= set(partitions)

    @contextmanager
    def committing(
        self, commits: Mapping[TopicPartition, Commit], outcome: CommitOutcome, *, promise: bool
    ) -> Iterator[dict[TopicPartition, Commit]]:
        """Give those commits that may be sent; until the block ends no revocation returns. The others are refused.

        Args:
            promise: whether these are new intents. They are refused once a revocation has begun; commits of stored
                ranges are welcome until it returns.
        """
        with self._lock:
            allowed: dict[TopicPartition, Commit] = {}
            for partition, commit in commits.items():
                ours = self._tokens.get(partition) == commit.token
                if ours and not (promise and partition in self._revoking):
                    allowed[partition] = commit
                else:
                    outcome.refused.add(partition)
            self._commits_in_flight += 1
        try:
            yield allowed
        finally:
            with self._lock:
                self._commits_in_flight -= 1

    # revocation, in this order

    def begin_revocation(self, partitions: set[TopicPartition]) -> None:
        """Stop promises and new work for these partitions."""
        with self._lock:
            self._revoking |= partitions

    def is_busy(self, partitions: set[TopicPartition]) -> bool:
        with self._lock:
            return bool(self._busy & partitions)

    def lose(self, partitions: set[TopicPartition]) -> None:
        """Drop the tokens of these partitions: every later commit for them is refused."""
        with self._lock:
            for partition in partitions:
                self._tokens.pop(partition, None)
            self._revoking -= partitions
            self._busy -= partitions

    def is_committing(self) -> bool:
        with self._lock:
            return self._commits_in_flight > 0
