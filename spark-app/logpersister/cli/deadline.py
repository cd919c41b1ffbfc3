"""Calls that may take no longer than they may, whatever a name server or a library does."""

from collections.abc import Callable
from concurrent.futures import wait
from typing import Generic, TypeVar

from logpersister.aside import in_a_thread
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
        self._answer = in_a_thread(function, 0.0)

    def result(self) -> Result:
        """Return what the function returned or raise what it raised; `UnreachableError` when it is overdue."""
        wait([self._answer], self._seconds + GRACE_SECONDS)
        if not self._answer.done():
            raise UnreachableError(
                f"{self._what}: no answer within {self._seconds:g} s; check the address and the network, or give "
                "more time with --timeout",
                may_pass=True,
            )
        return self._answer.result()
