"""The bucket: objects of records, and snapshots of revisions."""

import json
from collections.abc import Mapping
from typing import Any

from logpersister.storage.errors import StorageError
from logpersister.storage.topics import TopicNote
from tests.model.chronicle import Chronicle
from tests.model.decisions import Decisions, Fault
from tests.model.ledger import Ledger, ObjectKey, StoredObject
from tests.model.rules import Rules

GROUP = "backup"


class Bucket:
    """What S3 holds. A put is atomic, and may fail before or after its effect."""

    def __init__(self, chronicle: Chronicle, ledger: Ledger, rules: Rules, decisions: Decisions) -> None:
        self._chronicle = chronicle
        self._ledger = ledger
        self._rules = rules
        self._decisions = decisions
        self.objects: dict[ObjectKey, StoredObject] = {}
        self.revisions: dict[tuple[str, str], Mapping[str, Any]] = {}
        """By prefix and hash."""
        ledger.has_snapshot = lambda prefix, revision: (prefix, revision) in self.revisions
        self.topics: dict[tuple[str, str, int], TopicNote] = {}
        """By prefix, name and generation, what was noted of the topics that ranges were promised of."""
        self.documents: dict[str, tuple[str, int]] = {}
        """Documents about replays, by name, each with the number of its version."""
        self.selections: dict[str, tuple[str, ...]] = {}
        """By prefix, the topics that there were when the group began."""
        self.refusing: set[str] = set()
        """Prefixes that take nothing any more."""

    def maybe_fail(self, fault: Fault) -> None:
        if self._decisions.fails(fault):
            raise StorageError("unreachable", f"the bucket does not answer: {fault}")

    def refuse(self, prefix: str) -> None:
        """Take nothing more under a prefix: a quota, a policy, keys that were revoked."""
        self._chronicle.tell("s3", "takes nothing more under {}", prefix)
        self.refusing.add(prefix)
        self._ledger.refuses(prefix)

    def accept(self) -> None:
        """Take everything again."""
        self.refusing.clear()

    def check_keys(self, prefix: str, keys: str | None) -> None:
        """Let somebody in under a prefix, or raise: by keys that are for one prefix, None for keys that are for all."""
        if keys not in (None, prefix):
            self._ledger.refuses(prefix)
            raise StorageError("unauthorized", f"the keys for {keys} are not for {prefix}")

    def _check_access(self, prefix: str, keys: str | None) -> None:
        self.check_keys(prefix, keys)
        if prefix in self.refusing:
            raise StorageError("unauthorized", f"the bucket takes nothing under {prefix}")

    def replay(self, source: ObjectKey) -> None:
        """Take an object out of quarantine, as if by a corrected manifest: its own steps are those of `replays`."""
        stored = self.objects.pop(source)
        key = source._replace(path="", is_replay=True)
        self._chronicle.tell("user", "replays {}", source)
        self._ledger.replay(source, key, stored)
        self.objects[key] = stored

    def put_document(self, key: str, document: Mapping[str, Any], *, if_absent: bool = False) -> None:
        """Store a document in one piece."""
        before, version = self.documents.get(key, ("", 0))
        text = json.dumps(document, sort_keys=True)
        if text != before and not (if_absent and version):
            self.documents[key] = text, version + 1
            self._chronicle.tell("s3", "has {} as {}", key.rpartition(f"{GROUP}/")[2], text)
            if "bounds" in document:
                self._ledger.replay_begins(document)

    def delete(self, key: ObjectKey) -> None:
        """Delete an object that readers are told not to count."""
        if self.objects.pop(key, None) is not None:
            self._chronicle.tell("s3", "has no {} any more", key)

    def put(self, who: str, key: ObjectKey, now: StoredObject, *, keys: str | None, if_absent: bool) -> None:
        """Store an object; raises before or after it is stored."""
        self.maybe_fail(Fault.PUT_LOST)
        self._check_access(key.prefix, keys)
        before = self.objects.get(key)
        if before is not None and if_absent and self._rules.puts_if_absent:
            self._chronicle.tell(who, "leaves {} as it is", key)
            return
        offsets = sorted(offset for _, offset in now.records)
        self._chronicle.tell(
            who, "puts {}/{}/{}_{} {} {}", key.prefix, key.path, key.generation, key.start, key.partition, offsets
        )
        self._ledger.put(key, before, now)
        self.objects[key] = now
        self.maybe_fail(Fault.PUT_ANSWER_LOST)
