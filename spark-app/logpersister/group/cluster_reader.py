"""Reads the positions of many groups of one cluster, in batches through one client.

Each broker is asked once for all groups or partitions that are its own, all brokers at the same time. What is refused
for one group, partition or broker stands beside the answers of the others.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

import kafka.errors
from kafka import KafkaAdminClient
from kafka import TopicPartition as KafkaTopicPartition
from kafka.protocol.consumer import OffsetSpec
from kafka.protocol.metadata import CoordinatorType, FindCoordinatorRequest

from logpersister.group.answers import Answer, GroupDescription, Registered
from logpersister.group.description import described
from logpersister.group.offsets import Found, LogReader, registered
from logpersister.kafka_client.admin import forget_coordinator
from logpersister.ranges import Offset, TopicPartition

Value = TypeVar("Value")
Requests = Callable[[list[str]], Iterator[tuple[list[str], Any]]]
"""Returns requests about groups of one coordinator, each with the groups that it is about."""
Parse = Callable[[list[str], Any], Mapping[str, Value | Exception]]

FIRST_KAFKA_WITH_BATCHED_COORDINATORS: Final = 4
"""Version of FindCoordinator that takes several groups."""


class ClusterReader(LogReader):
    """Asks about many groups at once; blocking, with deadlines; for one thread at a time."""

    def __init__(self, client_config: Mapping[str, Any]) -> None:
        super().__init__(client_config, read_committed=False)
        self._met_leaderless = False

    @property
    def is_impaired(self) -> bool:
        """Whether in this batch a broker did not answer, or a partition had no leader."""
        return bool(self._brokers.missed) or self._met_leaderless

    def begin_batch(self) -> None:
        """Look for the leaders anew."""
        self._leaders.clear()
        self._brokers.missed.clear()
        self._met_leaderless = False

    def committed_of(
        self, groups: Mapping[str, Sequence[TopicPartition]]
    ) -> dict[str, Mapping[TopicPartition, Registered] | Exception]:
        """Return the committed offsets of each group, or why they are not known."""

        def requests(some: list[str]) -> Iterator[tuple[list[str], Any]]:
            asked = {group: [KafkaTopicPartition(*partition) for partition in groups[group]] for group in some}
            for group, request in self._admin._list_group_offsets_requests(asked):  # noqa: SLF001
                yield some if group is None else [group], request  # brokers before 3.0 answer about one group only

        return self._of_groups(list(groups), requests, _committed)

    def describe_groups(self, groups: Collection[str]) -> dict[str, GroupDescription | Exception]:
        """Return state and members of each group, or why they are not known."""

        def requests(some: list[str]) -> Iterator[tuple[list[str], Any]]:
            yield some, self._admin._describe_groups_request(some)  # noqa: SLF001

        def parse(_: list[str], response: Any) -> Mapping[str, GroupDescription | Exception]:
            found = self._admin._describe_groups_process_response(response)  # noqa: SLF001
            return {group: _or_error(described, one, group) for group, one in found.items()}

        return self._of_groups(list(groups), requests, parse)

    def ends_of(self, partitions: Iterable[TopicPartition], *, read_committed: bool) -> Answer[Offset]:
        """Return high watermarks, or last stable offsets when reading committed."""
        return self._positions(partitions, OffsetSpec.LATEST, read_committed=read_committed)

    def since(self, timestamps: Mapping[TopicPartition, int], *, read_committed: bool) -> Answer[Found | None]:
        """Return offset and timestamp (ms) of the first record not older than the given ms; None: no record is."""
        return self._since(timestamps, read_committed=read_committed)

    def _at(self, specs: Mapping[TopicPartition, int], *, read_committed: bool) -> Answer[Found]:
        answer = super()._at(specs, read_committed=read_committed)
        self._met_leaderless |= not self._leaderless.isdisjoint(answer.errors)
        return answer

    # groups

    def _of_groups(self, groups: list[str], requests: Requests, parse: Parse[Value]) -> dict[str, Value | Exception]:
        answers = self._ask_coordinators(groups, requests, parse)
        moved = [group for group, answer in answers.items() if isinstance(answer, kafka.errors.NotCoordinatorError)]
        return answers | self._ask_coordinators(moved, requests, parse) if moved else answers

    def _ask_coordinators(
        self, groups: list[str], requests: Requests, parse: Parse[Value]
    ) -> dict[str, Value | Exception]:
        nodes, answers = self._coordinators(groups)
        by_node = defaultdict(list)
        for group, node in nodes.items():
            by_node[node].append(group)
        asked = [(node, some, request) for node, ours in by_node.items() for some, request in requests(ours)]
        found = self._brokers.ask([(node, request) for node, _, request in asked])
        for (_, some, _), answer in zip(asked, found, strict=True):
            parsed = dict.fromkeys(some, answer) if isinstance(answer, Exception) else parse(some, answer)
            for group, value in parsed.items():
                if isinstance(value, Exception):
                    forget_coordinator(self._admin, group)
            answers |= parsed
        return answers

    def _coordinators(self, groups: list[str]) -> tuple[dict[str, int], dict[str, Any]]:
        """Return the coordinators of groups, and why those of others are not known."""
        cluster = self._admin._manager.cluster  # noqa: SLF001
        nodes, errors = dict[str, int](), dict[str, Any]()
        unknown = []
        for group in groups:
            node = cluster.get_coordinator(group, CoordinatorType.GROUP)
            if node is None:
                unknown.append(group)
            else:
                nodes[group] = node
        for asked, found in self._find_coordinators(unknown):
            if isinstance(found, Exception):
                errors |= dict.fromkeys(asked, found)
                continue
            for group, row in found:
                coordinated = _or_error(
                    cluster.add_coordinator, row, CoordinatorType.GROUP, group, synthesize_node_id=False
                )
                if isinstance(coordinated, Exception):
                    errors[group] = coordinated
                else:
                    nodes[group] = coordinated
        return nodes, errors

    def _find_coordinators(self, groups: list[str]) -> Iterator[tuple[list[str], Any]]:
        """Yield groups with the rows of their coordinators, or with the error for all of them."""
        if not groups:
            return
        versions = self._admin._manager.broker_version_data  # noqa: SLF001
        batched = versions.api_version(FindCoordinatorRequest) >= FIRST_KAFKA_WITH_BATCHED_COORDINATORS
        for some in [groups] if batched else [[group] for group in groups]:
            request = (
                FindCoordinatorRequest(key_type=CoordinatorType.GROUP.value, coordinator_keys=some, min_version=4)
                if batched
                else FindCoordinatorRequest(key=some[0], key_type=CoordinatorType.GROUP.value, max_version=3)
            )
            [answer] = self._brokers.ask([(None, request)])
            if isinstance(answer, Exception):
                yield some, answer
            else:
                yield some, [(row.key, row) for row in answer.coordinators] if batched else [(some[0], answer)]


def _committed(groups: list[str], response: Any) -> dict[str, Mapping[TopicPartition, Registered] | Exception]:
    code = kafka.errors.for_code(response.error_code)
    if code is not kafka.errors.NoError:
        return dict.fromkeys(groups, code(f"group {groups[0]}" if len(groups) == 1 else f"{len(groups)} groups"))
    rows = [(row.group_id, row) for row in response.groups] if response.API_VERSION >= 8 else [(groups[0], response)]
    return {group: _or_error(_registered, row) for group, row in rows}


def _registered(row: Any) -> Mapping[TopicPartition, Registered]:
    found = KafkaAdminClient._parse_group_offsets(row)  # noqa: SLF001
    return {TopicPartition(*partition): registered(entry) for partition, entry in found.items()}


def _or_error(ask: Callable[..., Value], *arguments: Any, **options: Any) -> Value | Exception:
    try:
        return ask(*arguments, **options)
    except kafka.errors.KafkaError as error:
        return error  # type: ignore[no-any-return]
