"""Notifies others of finished folders, at least once for the last version of each folder.

Two notes in the bucket survive every crash. The folder's own note has the version (number) of its content. The process
that publishes a version adds a note that it is *untold*, before it forgets why it looked at the folder (`finish.look`:
`finish_to`, arrivals). The process that has notified notes that in the folder's note, by compare-and-set, and deletes
the untold note. A process that stops anywhere in between repeats at most one notification. One that was suspended may
send an old version. Each message has folder and number, so that recipients recognize repeats.
"""

import json
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Final, Protocol
from urllib.parse import quote

import structlog

from logpersister.report.finish import RefusedFolder
from logpersister.storage import names
from logpersister.storage.finished import FolderContent, folder_content, note_told
from logpersister.storage.store import ObjectStore
from logpersister.storage.untold import Untold, delete_untold

log = structlog.get_logger(__name__)

LARGEST: Final = 900_000
"""Bytes of a message: brokers take a mebibyte by default. A larger one comes without its objects."""
MOST_SECONDS: Final = 60.0
"""Longest attempt; the next one follows at once and takes the rest."""


class NotTakenError(Exception):
    """A message was not accepted; the error says by whom and why. It is sent again later."""


class DelayedError(NotTakenError):
    """A message was not accepted; others may be, so these do not wait for it."""


class RefusedError(NotTakenError):
    """A message will never be accepted; it is not sent again."""


@dataclass(frozen=True, slots=True)
class Message:
    """Notification of one folder."""

    id: str
    """Id made of group, place, folder and number, so that a recipient recognizes a repeat."""
    key: str
    """Topic and path of the folder."""
    number: int
    body: bytes
    content: FolderContent


Send = Callable[[Message], None]
"""Returns when the message was accepted. Raises NotTakenError."""


class Teller(Protocol):
    """Recipient of notifications."""

    @property
    def policy(self) -> str:
        """``webhook``, ``kafka`` or ``archive``."""

    def session(self) -> AbstractContextManager[Send]:
        """Open a connection for a few messages. Raises NotTakenError, ManifestError for a missing Secret."""


@dataclass(slots=True)
class Told:
    """Results of one attempt."""

    folders: int = 0
    refused: list[RefusedFolder] = field(default_factory=list)
    more: bool = False
    """Whether more notifications are due at once."""


@dataclass(frozen=True, slots=True)
class Telling:
    """Notifies one recipient of the folders of a group."""

    store: ObjectStore
    group: str
    teller: Teller
    clock: Callable[[], float] = time.monotonic
    awaits: str | None = None
    """Policy that takes a folder before this recipient is notified of it."""

    def tell(self, topic: str, untold: Sequence[Untold]) -> Told:
        """Send the notifications of a topic that are due, oldest first; stop at the first failure, to keep their order.

        Raises NotTakenError, StorageError.
        """
        told, until = Told(), self.clock() + MOST_SECONDS
        delayed: DelayedError | None = None
        numbers: dict[str, list[Untold]] = {}
        for one in sorted(untold):
            numbers.setdefault(one.path, []).append(one)
        if not numbers:
            return told
        with self.teller.session() as send:
            for path, of_folder in numbers.items():
                if (told.folders or delayed) and self.clock() > until:
                    told.more = True
                    break
                try:
                    self._tell(topic, path, of_folder, send, told)
                except DelayedError as error:
                    delayed = delayed or error
        if delayed is not None:
            raise delayed
        return told

    def _tell(self, topic: str, path: str, untold: Sequence[Untold], send: Send, told: Told) -> None:
        found = folder_content(self.store, self.group, topic, path)
        content = None if found is None else found[0]
        policy = self.teller.policy
        if self.awaits is not None and content is not None and content.told.get(self.awaits, 0) < content.number:
            return
        if content is not None and content.told.get(policy, 0) < content.number:
            where = {"topic": topic, "folder": path, "number": content.number}
            refusal = ""
            try:
                send(message(self.store, self.group, content))
            except RefusedError as error:
                refusal = str(error)
            if refusal:
                told.refused.append(RefusedFolder(topic, path, content.number, refusal))
                log.error("folder.refused", policy=policy, **where, error=refusal)
            else:
                note_told(self.store, self.group, content, policy)
                told.folders += 1
                log.info("folder.told", policy=policy, **where)
        # They were listed before the content was read, so its number is at least theirs.
        delete_untold(self.store, self.group, policy, topic, untold)


def message(store: ObjectStore, group: str, content: FolderContent) -> Message:
    """Return the notification of a folder's content."""
    folder = f"{names.topic_prefix(store.prefix, content.topic)}{content.path}/"
    document = content.document() | {
        "group": group,
        "location": names.object_address(store.storage.bucket, folder),
    }
    body = _json(document)
    if len(body) > LARGEST:
        body = _json({name: value for name, value in document.items() if name != "objects"} | {"objectsLeftOut": True})
    id_ = quote(f"{group}/{store.storage.bucket}/{folder}{content.number}", safe="/=._-")
    return Message(id_, f"{content.topic}/{content.path}", content.number, body, content)


def _json(document: dict[str, Any]) -> bytes:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
