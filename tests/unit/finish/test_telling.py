"""Others are told of folders: at least once each last number, through deaths and zombies; refusals and failures."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count
from typing import Any, cast

import pytest
import structlog

from logpersister.finish.telling import (
    DelayedError,
    Message,
    RefusedError,
    Send,
    Telling,
    Told,
)
from logpersister.storage.store import ObjectStore
from logpersister.storage.untold import Untold, list_untold
from tests.unit.finish.world import GROUP, TOPIC, KilledError, World, before_write, hour, killed, spec

POLICIES = ["manifest", "webhook", "kafka"]


class Receiver:
    """Somebody who is told, and remembers it."""

    def __init__(self, policy: str = "webhook") -> None:
        self.policy = policy
        self.taken: list[Message] = []
        self.sessions = 0
        self.before: Callable[[Message], None] = lambda _: None
        """A test may let something happen, or fail, before a message is taken."""

    @contextmanager
    def session(self) -> Iterator[Send]:
        self.sessions += 1
        yield self._take

    def _take(self, of: Message) -> None:
        self.before(of)
        self.taken.append(of)

    def numbers(self) -> dict[str, list[int]]:
        """Return the numbers that were taken, by folder."""
        found: defaultdict[str, list[int]] = defaultdict(list)
        for one in self.taken:
            found[one.key.partition("/")[2]].append(one.number)
        return dict(found)


def told_world(*hours: float) -> World:
    world = World(spec=spec(policy=POLICIES, webhook={"url": "http://h"}, kafka={"topic": "told"}))
    world.store_new(0, *(hours or (0.5, 1.5, 4)))
    world.at(4)
    return world


def tell(world: World, receiver: Receiver, clock: Callable[[], float] | None = None) -> Told:
    store = cast("ObjectStore", world.store)
    untold = list_untold(store, GROUP, receiver.policy).get(TOPIC, ())
    return Telling(store, GROUP, receiver, clock or (lambda: world.seconds)).tell(TOPIC, untold)


def untold(world: World, policy: str = "webhook") -> list[Untold]:
    return [*list_untold(cast("ObjectStore", world.store), GROUP, policy).get(TOPIC, ())]


def test_each_folder_is_told_once_oldest_first_and_by_each_policy() -> None:
    world, webhook, topic = told_world(), Receiver(), Receiver("kafka")
    world.look()
    assert tell(world, webhook).folders == 2
    assert [one.key for one in webhook.taken] == [f"{TOPIC}/{hour(0)}", f"{TOPIC}/{hour(1)}"]
    assert (untold(world), len(untold(world, "kafka"))) == ([], 2)
    assert tell(world, topic).folders == 2
    assert (tell(world, webhook), webhook.sessions) == (Told(), 1)
    document = json.loads(webhook.taken[0].body)
    assert document == world.content(hour(0)) | {"group": GROUP, "location": f"s3://logs/raw/{TOPIC}/{hour(0)}/"}
    assert webhook.taken[0].id == f"{GROUP}/logs/raw/{TOPIC}/{hour(0)}/1"


def test_of_two_numbers_that_were_not_told_only_the_last_one_is() -> None:
    world, receiver = told_world(), Receiver()
    world.look()
    world.store_new(0, 0.7)
    world.look()
    assert untold(world) == [Untold(hour(0), 1), Untold(hour(0), 2), Untold(hour(1), 1)]
    tell(world, receiver)
    assert (receiver.numbers(), untold(world)) == ({hour(0): [2], hour(1): [1]}, [])


def test_what_is_delayed_is_told_later_and_keeps_no_other_waiting() -> None:
    world, receiver = told_world(), Receiver()
    world.look()

    def delays(one: Message) -> None:
        if hour(0) in one.key:
            raise DelayedError("copy 1 is away")

    receiver.before = delays
    with pytest.raises(DelayedError, match="copy 1"):
        tell(world, receiver)
    assert (receiver.numbers(), untold(world)) == ({hour(1): [1]}, [Untold(hour(0), 1)])
    receiver.before = lambda _: None
    tell(world, receiver)
    assert (receiver.numbers(), untold(world)) == ({hour(1): [1], hour(0): [1]}, [])


def test_where_there_are_copies_all_but_the_folders_own_documents_wait_for_the_archive() -> None:
    world = World(spec=spec(policy=["successFile", "manifest", "webhook", "archive"], webhook={"url": "http://h"}))
    world.store_new(0, 0.5, 1.5, 4)
    world.at(4)
    archives, webhook, store = Receiver("archive"), Receiver(), cast("ObjectStore", world.store)
    world.look(world.new_finisher(awaits_copies=True))
    assert (world.finished(), "_manifest.json" in "".join(world.store.documents)) == ([], True)
    waiting = Telling(store, GROUP, webhook, awaits="archive")
    assert waiting.tell(TOPIC, untold(world)) == Told()
    assert len(untold(world)) == 2
    archives.before = lambda one: None if hour(0) in one.key else (_ for _ in ()).throw(DelayedError("away"))
    with pytest.raises(DelayedError):
        tell(world, archives)
    assert waiting.tell(TOPIC, untold(world)).folders == 1
    assert (webhook.numbers(), untold(world)) == ({hour(0): [1]}, [Untold(hour(1), 1)])


def test_by_hand_archives_are_looked_at_again_and_others_are_not_told_again() -> None:
    world = World(spec=spec(policy=["webhook", "archive"], webhook={"url": "http://h"}))
    world.store_new(0, 0.5, 4)
    world.at(4)
    world.look()
    archives, webhook = Receiver("archive"), Receiver()
    tell(world, archives)
    tell(world, webhook)
    found = world.layout.folder_of(hour(0))
    assert found is not None
    finisher = world.new_finisher(archives_again=True)
    published = finisher.publish(found, finisher.passing.positions(), late=True)
    assert (published.changed, untold(world, "archive"), untold(world)) == (False, [Untold(hour(0), 1)], [])
    tell(world, archives)
    assert archives.numbers() == {hour(0): [1, 1]}


def test_what_is_refused_is_told_no_more_and_delays_no_other() -> None:
    world, receiver = told_world(), Receiver()
    world.look()

    def refuses(one: Message) -> None:
        if hour(0) in one.key:
            raise RefusedError("webhook http://h: it answered 422")

    receiver.before = refuses
    with structlog.testing.capture_logs() as logs:
        told = tell(world, receiver)
    assert [(one.folder, one.number, one.reason) for one in told.refused] == [
        (hour(0), 1, "webhook http://h: it answered 422")
    ]
    assert (told.folders, untold(world)) == (1, [])
    assert [entry["event"] for entry in logs] == ["folder.refused", "folder.told"]
    receiver.before = lambda _: None
    for folder in (hour(0), hour(1)):  # as `logpersister finish --from` does
        found = world.layout.folder_of(folder)
        assert found is not None
        world.finisher.publish(found, world.finisher.passing.positions(), late=True)
    assert untold(world) == [Untold(hour(0), 1)], "by hand it is told again, and no other"


@pytest.mark.parametrize("late", [False, True])
def test_whoever_dies_anywhere_is_followed_by_one_that_tells(late: bool) -> None:
    """Killed before each single write, and before and after each message: all is told, a number at most twice."""

    def scene() -> World:
        world = told_world()
        if late:
            world.look()
            tell(world, Receiver())
            world.store_new(0, 0.7)
        return world

    def work(world: World, receiver: Receiver) -> None:
        world.look()
        tell(world, receiver)

    whole, receiver = scene(), Receiver()
    before = len(whole.store.written)
    work(whole, receiver)
    expected = receiver.numbers()
    assert expected == ({hour(0): [2]} if late else {hour(0): [1], hour(1): [1]})
    for alive in range(len(whole.store.written) - before + 4):  # deletions, too
        world, receiver = scene(), Receiver()
        before_write(world, alive, killed)
        try:
            work(world, receiver)
        except KilledError:
            world.finisher = world.new_finisher()
            world.store.before_write = lambda: None
            work(world, receiver)
        numbers = receiver.numbers()
        assert {folder: set(them) for folder, them in numbers.items()} == {
            folder: set(them) for folder, them in expected.items()
        }, alive
        assert all(len(them) <= 2 for them in numbers.values())
        assert (untold(world), world.arrivals()) == ([], 0)


def test_a_zombie_tells_at_most_again_and_takes_nothing_back() -> None:
    """It stands still before each write and each message in turn, while another one tells a later number."""

    def scene() -> tuple[World, Receiver]:
        world, receiver = told_world(), Receiver()
        world.look()
        return world, receiver

    def others_work(world: World, receiver: Receiver) -> None:
        world.store_new(0, 0.7)
        world.look(world.new_finisher())
        receiver.before = lambda _: None
        tell(world, receiver)

    whole, receiver = scene()
    before = len(whole.store.written)
    tell(whole, receiver)
    for number in range(len(whole.store.written) - before + 2):
        world, receiver = scene()
        before_write(world, number, partial(others_work, world, receiver))
        tell(world, receiver)
        check_told(world, receiver)
    for number in range(2):
        world, receiver = scene()
        numbers = count()

        def sleeps(_: Message, numbers: Any = numbers, number: int = number, all_: Any = (world, receiver)) -> None:
            if next(numbers) == number:
                others_work(*all_)

        receiver.before = sleeps
        tell(world, receiver)
        check_told(world, receiver)


def check_told(world: World, receiver: Receiver) -> None:
    tell(world, receiver)
    assert untold(world) == []
    numbers = receiver.numbers()
    assert max(numbers[hour(0)]) == 2
    note = world.store.documents[f"raw/_logpersister/{GROUP}/finished/{TOPIC}/{hour(0)}.json"][0]
    assert (note["number"], note["told"]["webhook"]) == (2, 2)
