"""Calls that may take no longer than they may, whatever a name server or a library does."""

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from logpersister.cli.exits import UnreachableError

Result = TypeVar("Result")

GRACE_SECONDS = 2.0
"""How much longer than its own deadline a call gets, so that its own, better message comes first."""


class Call(Generic[Result]):
    """A function that runs on a thread of its own; `result` waits for it until the deadline.

    A call that is overdue is left behind: its thread is a daemon and ends with the process.
    """

    def __init__(self, what: str, seconds: float, function: Callable[[], Result]) -> None:
        self._what = what
        self._seconds = seconds
        self._outcome: list[Result] = []
        self._error: list[BaseException] = []
        self._thread = threading.Thread(target=self._run, args=(function,), name=f"call: {what}", daemon=True)
        self._thread.start()

    def _run(self, function: Callable[[], Result]) -> None:
        try:
            self._outcome.append(function())
        except BaseException as error:  # noqa: BLE001 - it is raised again where the result is asked for
            self._error.append(error)

    def result(self) -> Result:
        """Return what the function returned or raise what it raised; `UnreachableError` when it is overdue."""
        self._thread.join(self._seconds + GRACE_SECONDS)
        if self._error:
            raise self._error[0]
        if not self._outcome:
            raise UnreachableError(
                f"{self._what}: no answer within {self._seconds:g} s; check the address and the network, or give "
                "more time with --timeout",
                may_pass=True,
            )
        return self._outcome[0]
