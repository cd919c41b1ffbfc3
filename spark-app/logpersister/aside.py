"""Questions to servers that may never answer: each is asked in a thread of its own, so that who asks can go on."""

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, Future, wait
from functools import partial
from typing import Any, ParamSpec, Protocol, TypeVar

Answer = TypeVar("Answer")
Given = ParamSpec("Given")


class Aside(Protocol):
    """How questions are asked."""

    def __call__(self, question: Callable[[], Answer], seconds: float, /) -> "Future[Answer]":
        """Ask, and wait up to so many seconds; the answer may come later."""


def at_once(question: Callable[[], Answer], _seconds: float = 0.0) -> "Future[Answer]":
    """Ask, and wait for as long as it takes."""
    future: Future[Answer] = Future()
    settle(future, question)
    return future


def in_a_thread(question: Callable[[], Answer], seconds: float) -> "Future[Answer]":
    """Ask in a thread, whose end no process waits for."""
    future: Future[Answer] = Future()
    threading.Thread(target=settle, args=(future, question), name="aside", daemon=True).start()
    wait([future], seconds)
    return future


class Threads(Executor):
    """Asks several questions at once, in threads whose end no process waits for.

    The threads of ThreadPoolExecutor are joined at the end of a process, however long a server is silent.
    """

    def __init__(self, most: int, name: str) -> None:
        self._most = most
        self._name = name
        self._lock = threading.Lock()
        self._threads: set[threading.Thread] = set()
        self._waiting: deque[tuple[Future[Any], Callable[[], Any]]] = deque()

    def submit(self, fn: Callable[Given, Answer], /, *args: Given.args, **kwargs: Given.kwargs) -> "Future[Answer]":
        future: Future[Answer] = Future()
        with self._lock:
            self._waiting.append((future, partial(fn, *args, **kwargs)))
            if len(self._threads) < self._most:
                thread = threading.Thread(target=self._work, name=self._name, daemon=True)
                self._threads.add(thread)
                thread.start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: FBT001, FBT002
        with self._lock:
            threads = list(self._threads)
            for future, _ in self._waiting if cancel_futures else ():
                future.cancel()
        for thread in threads if wait else ():
            thread.join()

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._threads.remove(threading.current_thread())
                    return
                future, question = self._waiting.popleft()
            if future.set_running_or_notify_cancel():
                settle(future, question)


def settle(future: "Future[Answer]", question: Callable[[], Answer]) -> None:
    """Ask, and give a future the answer or what was raised."""
    try:
        future.set_result(question())
    except BaseException as error:  # noqa: BLE001 - whoever takes the answer raises it
        future.set_exception(error)
