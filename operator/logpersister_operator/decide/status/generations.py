"""The generations that are written, by how many members and partitions."""

from collections.abc import Mapping

from logpersister.report.lag import GenerationShare
from logpersister_operator.crd.status_rollout import MOST_BEGINNINGS, MOST_GENERATIONS, Beginning, GenerationState
from logpersister_operator.decide.validity import manifest_of
from logpersister_operator.observed_state import KnownLag, LagAnswer, OwnObjects
from logpersister_operator.rollout import fleet
from logpersister_operator.rollout.fleet import Fleet


def generations(own: OwnObjects, lag: LagAnswer, fleets: Mapping[str, Fleet]) -> tuple[GenerationState, ...]:
    """Return the newest generations that members write or partitions are in, the oldest of them first."""
    shares = {one.generation: one for one in lag.generations} if isinstance(lag, KnownLag) else {}
    writing: dict[int, list[Fleet]] = {number: [] for number in shares}
    for revision, config_map in own.config_maps().items():
        manifest = manifest_of(config_map)
        if manifest is not None:
            writing.setdefault(manifest.spec.generation, []).append(fleets.get(revision, fleet.NONE))
    newest = sorted(writing)[-MOST_GENERATIONS:]
    return tuple(_state(number, writing[number], shares.get(number)) for number in newest)


def _state(number: int, fleets: list[Fleet], share: GenerationShare | None) -> GenerationState:
    began = {} if share is None else share.began
    return GenerationState(
        generation=number,
        members=sum(one.wanted for one in fleets),
        ready=sum(one.ready for one in fleets),
        partitions=0 if share is None else share.partitions,
        began=tuple(
            Beginning(topic=partition.topic, partition=partition.partition, offset=offset)
            for partition, offset in sorted(began.items())[:MOST_BEGINNINGS]
        ),
    )
