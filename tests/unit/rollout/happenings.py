"""What may come next in a small world: the operator, Kubernetes and time take their course, or adversity strikes."""

from collections.abc import Callable, Iterable, Iterator

from tests.unit.rollout.world import MINUTE, World


def successors(world: World) -> Iterator[tuple[str, World]]:
    """Return every world that may come next."""
    yield from course_of(world)
    yield from adversity(world)


def course_of(world: World) -> Iterator[tuple[str, World]]:
    """Return what comes next when nothing strikes."""
    yield from _reconciliations(world)
    yield from _pods(world)


def _reconciliations(world: World) -> Iterator[tuple[str, World]]:
    last, decided = None, world.decide()
    for writes in range(1, 6):
        other = world.clone()
        other.act(writes, decided)
        if last is not None and other.key() == last:
            return
        last = other.key()
        yield f"reconciliation of {writes} writes", other


def _pods(world: World) -> Iterator[tuple[str, World]]:
    for pod, state in sorted(world.pods.items()):
        if state == "leaving" or world.may_get_ready(pod):
            other = world.clone()
            if state == "leaving":
                del other.pods[pod]
            else:
                other.pods[pod] = "ready"
            yield f"{pod} {'is gone' if state == 'leaving' else 'is ready'}", other
            break  # which one is first makes no difference
    for pod in world.missing()[:1]:
        other = world.clone()
        other.start(pod)
        yield f"{pod} starts", other
    if world.seen is not None:
        other = world.clone()
        other.seen = None
        yield "the news arrive", other


def adversity(world: World) -> Iterator[tuple[str, World]]:
    for what, left in sorted(world.budget.items()):
        if left:
            for name, other in EVENTS[what](world):
                other.budget[what] = left - 1
                yield name, other


def _dying(world: World) -> Iterator[tuple[str, World]]:
    for pod, state in sorted(world.pods.items()):
        if state == "ready":
            other = world.clone()
            other.pods[pod] = "starting"
            yield f"{pod} dies", other


def _change(world: World, **changes: object) -> World:
    other = world.clone()
    for name, value in changes.items():
        setattr(other, name, value)
    return other


def _turning(world: World) -> Iterator[tuple[str, World]]:
    for revision in sorted({"A", *world.kinds} - {world.revision}):
        yield f"the spec says {revision}", _change(world, revision=revision)


def _attempt(world: World) -> Iterator[tuple[str, World]]:
    now = world.policy.attempt
    for number in (now + 1, now - 1) if now else (1,):
        yield f"attempt {number}", _change(world, policy=world.policy.model_copy(update={"attempt": number}))


def _abort(world: World) -> Iterator[tuple[str, World]]:
    for mark in world.marks():
        yield "abort", _change(world, abort=mark)


def _retry(world: World) -> Iterator[tuple[str, World]]:
    for mark in world.marks():
        yield "retry", _change(world, retry=mark)


Possible = Iterable[tuple[str, World]]


def _policy(world: World) -> Possible:
    policy = world.policy
    for what, change in {
        "another strategy": {"strategy": "Canary" if policy.recreates else "Recreate"},
        "another consequence": {"on_failure": "Pause" if policy.rolls_back else "Rollback"},
    }.items():
        yield what, _change(world, policy=policy.model_copy(update=change))


EVENTS: dict[str, Callable[[World], Possible]] = {
    "time": lambda world: [("a minute", _change(world, now=world.now + MINUTE))],
    "death": _dying,
    "turn": _turning,
    "pause": lambda world: [("pause", _change(world, paused=not world.paused))],
    "block": lambda world: [("a Secret", _change(world, blocked=not world.blocked))],
    "promote": lambda world: [("promotion", _change(world, promote=world.revision))],
    "attempt": _attempt,
    "abort": _abort,
    "retry": _retry,
    "policy": _policy,
    "outage": lambda world: [("outage", _change(world, outage=not world.outage))],
    "old news": lambda world: [("old news", _change(world, seen=dict(world.pods)))] if world.seen is None else [],
    "size": lambda world: [
        (f"{number} members", _change(world, members=number)) for number in (1, 2, 3) if number != world.members
    ],
}
