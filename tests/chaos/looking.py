"""A thread that looks at servers again and again, past all proxies; those that are away stop nothing."""

import threading
from abc import ABC, abstractmethod

from botocore.exceptions import BotoCoreError, ClientError

_INTERVAL_SECONDS = 1.0
_JOIN_SECONDS = 180.0


class Looking(ABC):
    """Looks every second."""

    def __init__(self) -> None:
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=type(self).__name__, daemon=True)
        self.failure: BaseException | None = None

    @abstractmethod
    def look(self) -> None:
        """Take in what stands there now."""

    def start(self) -> None:
        self._thread.start()

    def ask_to_stop(self) -> None:
        self._stopping.set()

    def stop(self) -> None:
        """End, after one more look at what stands in the end."""
        self.ask_to_stop()
        self._thread.join(_JOIN_SECONDS)
        if self._thread.is_alive():
            self.failure = self.failure or TimeoutError(f"it does not end within {_JOIN_SECONDS} s")
        else:
            self.look()

    def _run(self) -> None:
        try:
            while not self._stopping.wait(_INTERVAL_SECONDS):
                try:
                    self.look()
                except (BotoCoreError, ClientError, OSError):
                    continue
        except BaseException as error:  # noqa: BLE001 - told in the end
            self.failure = error
