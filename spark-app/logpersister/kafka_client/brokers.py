"""Asks the brokers of a cluster side by side. Nobody waits twice for one that is silent.

A broker that stands still, or whose network swallows packets, takes connections and never answers. It is waited for
once. From then on it is asked in the background, so that the partitions and groups of the others lose no time.

Written against kafka-python 3.0.12.
"""

import random
import time
from collections.abc import Callable, Collection, Sequence
from typing import Any, Final

from kafka import KafkaAdminClient
from kafka.errors import KafkaConnectionError, KafkaError, KafkaTimeoutError, NodeNotReadyError, RequestTimedOutError

PATIENCE_SECONDS: Final = 5.0
MOST_PATIENCE_SECONDS: Final = 30.0
"""Longest wait for a broker that has answered late: it is slow, and not away."""
_ANOTHER = (KafkaTimeoutError, KafkaConnectionError, NodeNotReadyError, RequestTimedOutError)
"""Errors after which another broker may answer."""


class Brokers:
    """The brokers that an admin client knows; for one thread at a time."""

    def __init__(self, client: KafkaAdminClient, clock: Callable[[], float] = time.monotonic) -> None:
        self._client = client
        self._clock = clock
        self._silent: dict[int, Any] = {}
        """Outstanding answer by broker."""
        self._patience: dict[int, float] = {}
        """Seconds, of brokers that have answered late."""
        self.missed: set[int] = set()
        """Brokers that were asked and did not answer in time, since this was cleared."""

    def knows(self, nodes: Collection[int]) -> bool:
        """Whether the addresses of all these brokers are known; ids below 0 stand for none."""
        cluster = self._client._manager.cluster  # noqa: SLF001
        return all(node < 0 or cluster.broker_metadata(node) is not None for node in nodes)

    def ask(self, requests: Sequence[tuple[int | None, Any]]) -> list[Any]:
        """Send all requests at once, each to the broker of an id (None: to any); return the answers in this order.

        The answer of a broker that does not give one is its KafkaError.
        """
        return list(self._client._manager.run(self._ask_all, requests))  # noqa: SLF001

    def ask_any(self, request: Callable[[], Any]) -> Any:
        """Return the answer of any broker; another one is asked when the first is silent or unreachable.

        Args:
            request: makes the request; kafka-python fits each to the broker that gets it.

        Raises:
            KafkaError: none answers.
        """
        tries = 1 + len(self._client._manager.cluster.brokers())  # noqa: SLF001
        while True:
            tries -= 1
            [answer] = self.ask([(None, request())])
            if not isinstance(answer, Exception):
                return answer
            if not tries or not isinstance(answer, _ANOTHER):
                raise answer

    async def _ask_all(self, requests: Sequence[tuple[int | None, Any]]) -> list[Any]:
        nodes = [self._any() if node is None else node for node, _ in requests]
        pending = [self._send(node, request) for node, (_, request) in zip(nodes, requests, strict=True)]
        began = self._clock()
        return [await self._outcome(node, one, began) for node, one in zip(nodes, pending, strict=True)]

    def _any(self) -> int | None:
        manager = self._client._manager  # noqa: SLF001
        node: int | None = manager.least_loaded_node()
        if node not in self._silent:
            return node
        known = [broker.node_id for broker in manager.cluster.brokers()]
        others = [one for one in known if one not in self._silent and not manager.connection_delay(one)]
        return random.choice(others) if others else node

    def _send(self, node: int | None, request: Any) -> Any:
        owed = self._silent.get(node) if node is not None else None
        if owed is not None and node is not None:
            if not owed.is_done:
                return self._silence(node)
            if owed.failed():
                again = self._sent(node, request)
                if isinstance(again, KafkaError):  # not known any more, or it refused the login meanwhile
                    return again
                self._silent[node] = again
                return self._silence(node)
            del self._silent[node]
            self._patience[node] = min(MOST_PATIENCE_SECONDS, 2 * self._patience.get(node, PATIENCE_SECONDS))
        return self._sent(node, request)

    def _sent(self, node: int | None, request: Any) -> Any:
        if node is None:  # kafka-python would choose one, perhaps a silent one
            return NodeNotReadyError("no broker is connected")
        try:
            return self._client._manager.send(request, node_id=node)  # noqa: SLF001
        except KafkaError as error:  # a broker that is not known, or refused the login before
            return error

    def _silence(self, node: int) -> KafkaError:
        self.missed.add(node)
        broker = self._client._manager.cluster.broker_metadata(node)  # noqa: SLF001
        where = "" if broker is None else f" ({broker.host}:{broker.port})"
        return KafkaTimeoutError(f"broker {node}{where} does not answer")

    async def _outcome(self, node: int | None, pending: Any, began: float) -> Any:
        if isinstance(pending, KafkaError):
            return pending
        patience = PATIENCE_SECONDS if node is None else self._patience.get(node, PATIENCE_SECONDS)
        left = max(0.0, began + patience - self._clock())
        try:
            answer = await self._client._manager.wait_for(pending, int(left * 1000))  # noqa: SLF001
        except KafkaError as error:
            if not pending.is_done and node is not None:
                self._silent[node] = pending
                return self._silence(node)
            return error
        if node is not None and self._clock() - began < PATIENCE_SECONDS:
            self._patience.pop(node, None)
        return answer
