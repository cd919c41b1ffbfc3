"""The bucket: objects of records, and snapshots of revisions."""

from collections.abc import Mapping
from typing import Any

from logpersister.storage.errors import StorageError
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
        self.revisions: dict[str, Mapping[str, Any]] = {}
        self.topics: dict[tuple[str, int], str] = {}
        """By name and generation, the ids of the topics that ranges were promised of."""

    def maybe_fail(self, fault: Fault) -> None:
        if self._decisions.fails(fault):
            raise StorageError("unreachable", f"the bucket does not answer: {fault}")

    def put(self, who: str, key: ObjectKey, now: StoredObject, *, if_absent: bool) -> None:
        """Store an object; raises before or after it is stored."""
        self.maybe_fail(Fault.PUT_LOST)
        before = self.objects.get(key)
        if before is not None and if_absent and self._rules.puts_if_absent:
            self._chronicle.tell(who, "leaves {} as it is", key)
            return
        offsets = sorted(offset for _, offset in now.records)
        self._chronicle.tell(who, "puts {}/{}_{} {} {}", key.path, key.generation, key.start, key.partition, offsets)
        self._ledger.put(key, before, now)
        self.objects[key] = now
        self.maybe_fail(Fault.PUT_ANSWER_LOST)
