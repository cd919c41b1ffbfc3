"""Snapshots of revisions whose intents a member may have to execute, and intents for a place that refuses access."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from enum import StrEnum
from functools import lru_cache
from typing import Any

import structlog

from logpersister.manifest.revisions.revision import (
    Revision,
    RevisionError,
    original_of,
    reached_like,
    resource_of,
    revision_of_document,
    under_rules,
)
from logpersister.member.ports import StateStore
from logpersister.pipeline.rules import Rules, noted_rules, rules_of
from logpersister.plan.intents import Intent
from logpersister.ranges import TopicPartition
from logpersister.storage.errors import StorageError

log = structlog.get_logger(__name__)


class RecoveryAction(StrEnum):
    """What to do with a pending intent."""

    AS_WRITTEN = "as written"
    IN_OUR_PLACE = "in our place"
    """Execute it in our place: it is for another one, which refuses access."""
    HOLD = "hold"
    """Hold the partition: the intent is for our place, and the snapshot of its revision is not there."""
    RETRY = "retry"
    """Ask its place again later."""


class RevisionSnapshots:
    """The snapshots that one member has read, and what it has decided about intents for other places."""

    def __init__(self, own: Revision, place: str, state_store: StateStore) -> None:
        self._own = own
        self.place = place
        """Bucket and prefix of the own one."""
        self._state_store = state_store
        self.documents: dict[str, Mapping[str, Any]] = {own.hash: own.document}
        """Snapshots of every revision that a pending intent needs, each with our own ways to brokers and bucket."""
        self._given_up: dict[TopicPartition, Intent] = {}
        self._anew: dict[str, str] = {}
        """Revision under which promises of another revision are executed here, by that revision."""

    def recovery_actions(self, intents: Iterable[Intent]) -> dict[TopicPartition, RecoveryAction]:
        """Return for each partition what to do with its pending intent; a place that is away is waited for once.

        Raises StorageError when our own place does not answer.
        """
        actions: dict[TopicPartition, RecoveryAction] = {}
        asked: dict[tuple[str, str], RecoveryAction] = {}
        for intent in intents:
            snapshot = intent.revision, self._place(intent)
            if self._given_up.get(intent.partition) == intent:
                actions[intent.partition] = RecoveryAction.IN_OUR_PLACE
            else:
                if snapshot not in asked:
                    asked[snapshot] = self.recovery_action(intent)
                actions[intent.partition] = asked[snapshot]
        return actions

    def recovery_action(self, intent: Intent) -> RecoveryAction:
        """Return what to do with an intent that is not given up; if as written, `documents` has its revision."""
        if intent.revision in self.documents:
            return RecoveryAction.AS_WRITTEN
        try:
            return RecoveryAction.AS_WRITTEN if self._learn(intent) else self._without_snapshot(intent)
        except StorageError as error:
            if error.kind == "damaged":  # that concerns this intent only
                return self._without_snapshot(intent)
            if not self.stores_elsewhere(intent):
                raise
            log.warning("place.failed", place=intent.place, revision=intent.revision, kind=error.kind, error=str(error))
            return RecoveryAction.RETRY if error.retriable else RecoveryAction.IN_OUR_PLACE

    def snapshot(self, revision: str) -> Mapping[str, Any] | None:
        """Return the document of a revision that stores in our place; None when its snapshot is not there.

        Raises StorageError.
        """
        if revision not in self.documents:
            document = self._state_store.revision(revision, self.place)
            if document is None or revision_of_document(document).hash != revision:
                return None
            self.documents[revision] = reached_like(document, self._own.document)
        return self.documents[revision]

    def under_our_rules(self, intent: Intent) -> Intent:
        """Return an intent, whose revision is known, as this build can execute it.

        Where the rules of its revision are not ours, that is a promise anew, of the same ranges under the same spec and
        our rules. So whoever takes it over next sees that its objects may be of either, and compares before he writes;
        also a build whose rules are those of the first promise. (In another place we leave no snapshots: there the
        promise stays as it is.)
        """
        revision = intent.revision
        if revision != self._own.hash and not self.stores_elsewhere(intent):
            if revision not in self._anew:
                self._anew[revision] = self._promised_anew(revision)
            revision = self._anew[revision]
        return replace(intent, revision=revision)

    def _promised_anew(self, revision: str) -> str:
        """Return a revision that does the same under our rules; its snapshot is stored."""
        document = self.documents[revision]
        ours = _rules_for(json.dumps(document))
        if ours is None or (noted := noted_rules(document, ours)) == ours:
            return revision
        anew = under_rules(document, revision, noted, ours)
        self._state_store.put_revision(anew.hash, anew.document)
        self.documents[anew.hash] = anew.document
        return anew.hash

    def named_by_objects(self, intent: Intent) -> str:
        """Return the revision that the objects of an intent name as theirs; its own is in `documents`."""
        return original_of(self.documents[intent.revision], intent.revision)

    def stores_elsewhere(self, intent: Intent) -> bool:
        return self._place(intent) != self.place

    def give_up(self, intent: Intent, why: str) -> None:
        """Keep what is promised for another place in ours: that one refuses it."""
        self._given_up[intent.partition] = intent
        partition = intent.partition
        log.error(
            "place.given_up", topic=partition.topic, partition=partition.partition, place=intent.place, message=why
        )

    def _learn(self, intent: Intent) -> bool:
        """Read the snapshot of an intent's revision; return whether it is there, and is what the intent names."""
        document = self._state_store.revision(intent.revision, self._place(intent))
        if document is None or revision_of_document(document).hash != intent.revision:
            return False
        self.documents[intent.revision] = reached_like(document, self._own.document)
        return True

    def _without_snapshot(self, intent: Intent) -> RecoveryAction:
        return RecoveryAction.IN_OUR_PLACE if self.stores_elsewhere(intent) else RecoveryAction.HOLD

    def _place(self, intent: Intent) -> str:
        return self.place if intent.place is None else intent.place


@lru_cache(maxsize=64)
def _rules_for(document: str) -> Rules | None:
    """Return our rules for the spec of a revision; None when this version cannot execute it, which its ranges say."""
    try:
        return rules_of(resource_of(json.loads(document)))
    except RevisionError:
        return None
