"""Which disturbance comes when: a deck that is shuffled by the seed, dealt, and shuffled again.

So every kind of disturbance happens once before any kind happens much more often. The same seed deals the same
disturbances with the same settings in the same order. At which instruction of a member they strike is up to the
machine: no seed brings that back.
"""

import random
from collections.abc import Callable, Iterator, Sequence

from tests.chaos.disturbances import Disturbance, Freeze, Join, Kill, KillWorkers, LeaderRestart, Leave, OfMember
from tests.chaos.history import HistoryReplay, Restore
from tests.chaos.incompatible import IncompatibleVersion
from tests.chaos.requests import HttpFault, Refuses
from tests.chaos.rows import CompactorKill, Correction, RegistryKill, Replay, SchemaEvolves
from tests.chaos.servers import BrokerRoll, CoordinatorFault, PartitionsGrow, ServerFault
from tests.chaos.settings import Settings

Card = Callable[[random.Random, Settings], Disturbance]
_FIRST, _LAST = 2, 8
"""Places of the first deck at which that may come which happens once in a run of a minute."""
_CARD_SECONDS = 10.0
"""How long a card takes on a machine that others use, too."""


def deal(settings: Settings) -> Iterator[tuple[float, Disturbance]]:
    """Yield disturbances without end, each with the seconds between the beginning of the one before and its own."""
    chance = random.Random(f"deck {settings.seed}")
    once = list(cards_of_a_run(settings))
    while True:
        deck = [card for card, copies in cards(settings) for _ in range(copies)]
        chance.shuffle(deck)
        while once:
            deck.insert(chance.randint(_FIRST, _latest_place(settings)), once.pop())
        for card in deck:
            yield chance.uniform(*settings.pause), card(chance, settings)


def _latest_place(settings: Settings) -> int:
    """Return a place that is dealt in the first half of a run."""
    return max(_LAST, int(settings.seconds / 2 / _CARD_SECONDS))


def cards_of_a_run(settings: Settings) -> Iterator[Card]:
    """Yield what happens once."""
    if settings.has_incompatible_version:
        yield _incompatible_version
    if settings.has_history:
        yield _history_replay
    if settings.has_backup:
        yield _restore


def cards(settings: Settings) -> Sequence[tuple[Card, int]]:
    """Return what is in a deck, and how often."""
    found = list(_CARDS)
    if settings.brokers > 1:
        found += _OF_A_CLUSTER
    if settings.has_rows:
        found += _OF_ROWS
    if any(output.is_corrected for output in settings.outputs):
        found += _OF_QUARANTINE
    if settings.has_iceberg:
        found += _OF_A_CATALOG
    if settings.has_hive:
        found += _OF_A_METASTORE
    if settings.has_table:
        found += _OF_NOTES
    if settings.has_iceberg:
        found += _OF_COMPACTION
    if settings.has_history:
        found.append((_history_replay, 1))
    if settings.has_backup:
        found.append((_restore, 1))
    return found


def _kill(how: str) -> Card:
    def draw(chance: random.Random, settings: Settings) -> Disturbance:
        soon, session = chance.random() < 0.5, settings.session_seconds
        return Kill(
            which=chance.random(),
            even_starting=chance.random() < 0.1,
            how=how,
            at_upload=chance.random() < 0.6,
            delay=chance.choice((0.0, chance.uniform(0, 0.01), chance.uniform(0, 0.15))),
            # within the session its partitions wait for it; after that others have them
            back_after=chance.uniform(0, 2) if soon else chance.uniform(session + 1, session + 6),
        )

    return draw


def _longer_than_the_session(chance: random.Random, settings: Settings) -> float:
    return chance.uniform(settings.session_seconds + 1.5, settings.session_seconds + 9)


def _freeze(*, replaced: bool) -> Card:
    def draw(chance: random.Random, settings: Settings) -> Disturbance:
        return Freeze(
            which=chance.random(),
            seconds=_longer_than_the_session(chance, settings),
            all_of_it=chance.random() < 0.6,
            replaced=replaced,
            at_upload=chance.random() < 0.6,
        )

    return draw


def _http(what: str, requests: Sequence[str], share: tuple[float, float] = (0.2, 1.0), *, service: str = "s3") -> Card:
    def draw(chance: random.Random, settings: Settings) -> Disturbance:
        after = (0, 300, chance.randrange(5_000), chance.randrange(6_000_000)) if service == "s3" else (0, 30)
        return HttpFault(
            service=service,
            what=what,
            requests=chance.choice(requests),
            share=chance.uniform(*share),
            after=chance.choice(after),
            seconds=chance.uniform(3, 10),
            seed=chance.randrange(1 << 32),
        )

    return draw


def _refuses(service: str) -> Card:
    def draw(chance: random.Random, settings: Settings) -> Disturbance:
        return Refuses(service=service, seconds=chance.uniform(1, 8))

    return draw


def _server(server: str, how: str, seconds: tuple[float, float]) -> Card:
    def draw(chance: random.Random, settings: Settings) -> Disturbance:
        which = chance.random()
        return ServerFault(server=server, how=how, which=which, seconds=chance.uniform(*seconds))

    return draw


def _coordinator(how: str) -> Card:
    def draw(chance: random.Random, settings: Settings) -> Disturbance:
        seconds = _longer_than_the_session(chance, settings) if how == "freeze" else None
        which = chance.random()
        return CoordinatorFault(how=how, which=which, seconds=chance.uniform(0, 15) if seconds is None else seconds)

    return draw


def _incompatible_version(chance: random.Random, settings: Settings) -> Disturbance:
    return IncompatibleVersion(seconds=chance.uniform(5, 20), meanwhile=_meanwhile(chance, settings))


def _meanwhile(chance: random.Random, settings: Settings) -> OfMember:
    """Return what happens to a process in the middle of something."""
    meanwhile = chance.choice((_kill("driver"), _kill("tree"), _freeze(replaced=False), _freeze(replaced=True)))
    happens = meanwhile(chance, settings)
    assert isinstance(happens, OfMember)
    return happens


def _history_replay(chance: random.Random, settings: Settings) -> Disturbance:
    delay = chance.choice((0.0, chance.uniform(0, 0.05), chance.uniform(0, 0.3)))
    meanwhile = _meanwhile(chance, settings)
    return HistoryReplay(seconds=1.0, meanwhile=meanwhile, back=chance.random() < 0.5, delay=delay)


def _restore(chance: random.Random, settings: Settings) -> Disturbance:
    delay = chance.choice((0.0, chance.uniform(0, 0.1), chance.uniform(0, 1)))
    return Restore(seconds=0.5, delay=delay, twice=chance.random() < 0.3)


def _replay_killed(chance: random.Random, settings: Settings) -> Disturbance:
    delay = chance.choice((0.0, chance.uniform(0, 0.05), chance.uniform(0, 0.5)))
    return Replay(which=chance.random(), ends="killed", delay=delay, seconds=0.5)


_CARDS: tuple[tuple[Card, int], ...] = (
    (_kill("driver"), 3),
    (_kill("tree"), 3),
    (_kill("jvm"), 1),
    (lambda chance, _: KillWorkers(which=chance.random(), at_upload=chance.random() < 0.7), 1),
    (_freeze(replaced=False), 2),
    (_freeze(replaced=True), 1),
    (lambda chance, _: Leave(which=chance.random(), seconds=chance.uniform(1, 10)), 1),
    (lambda chance, _: Join(which=chance.random(), seconds=chance.uniform(10, 30)), 1),
    (_http("503", ("any", "upload")), 1),
    (_http("500", ("upload", "complete")), 1),
    (_http("stall", ("any", "upload", "complete")), 1),
    (_http("reset", ("any", "upload", "part")), 1),
    (_http("lose-response", ("any", "put")), 1),
    (_http("lose-response", ("create", "part", "complete"), share=(0.6, 1.0)), 1),
    (_refuses("s3"), 1),
    (_server("broker", "stop", (0, 6)), 1),
    (_server("broker", "kill", (0, 6)), 1),
    (_server("broker", "freeze", (2, 9)), 1),
    (_server("minio", "stop", (0, 5)), 1),
    (_server("minio", "kill", (0, 5)), 1),
)
_OF_A_CLUSTER: tuple[tuple[Card, int], ...] = (
    (lambda _, __: BrokerRoll(seconds=1.0), 1),
    (_coordinator("freeze"), 2),
    (_coordinator("kill"), 1),
    # Long enough for others to lead what it led, and for partitions that it alone has to be without a leader.
    (_server("broker", "kill", (10, 25)), 1),
    (_server("broker", "freeze", (10, 25)), 1),
    (lambda chance, _: PartitionsGrow(which=chance.random()), 2),
    (lambda chance, _: LeaderRestart(which=chance.random()), 1),
)
_OF_ROWS: tuple[tuple[Card, int], ...] = (
    (lambda _, __: SchemaEvolves(), 2),
    (lambda chance, _: RegistryKill(seconds=chance.uniform(0.1, 6)), 1),
    (_server("registry", "freeze", (2, 15)), 1),
    (_http("500", ("any",), service="registry"), 1),
    (_http("lose-response", ("any",), service="registry"), 1),
    (_http("stall", ("any",), service="registry"), 1),
    (_refuses("registry"), 1),
)
_OF_QUARANTINE: tuple[tuple[Card, int], ...] = (
    (lambda chance, _: Correction(which=chance.random()), 1),
    (_replay_killed, 3),
    (lambda chance, _: Replay(which=chance.random(), ends="alone", delay=0.0, seconds=0.5), 1),
)
_OF_A_CATALOG: tuple[tuple[Card, int], ...] = (
    (_http("503", ("any", "commit"), service="catalog"), 1),
    (_http("500", ("commit",), service="catalog"), 1),
    (_http("500-after", ("commit",), share=(0.5, 1.0), service="catalog"), 1),
    (_http("lose-response", ("commit",), share=(0.5, 1.0), service="catalog"), 1),
    (_http("stall", ("any", "commit"), service="catalog"), 1),
    (_refuses("catalog"), 1),
    (_server("catalog", "kill", (0, 6)), 1),
    (_server("catalog", "freeze", (2, 15)), 1),
)
_OF_A_METASTORE: tuple[tuple[Card, int], ...] = (
    (_http("stall", ("any",), service="metastore"), 2),
    (_http("reset", ("any",), service="metastore"), 2),
    (_refuses("metastore"), 1),
    (_server("metastore", "kill", (0, 6)), 2),
    (_server("metastore", "freeze", (2, 15)), 1),
)
_OF_NOTES: tuple[tuple[Card, int], ...] = (
    (_http("lose-response", ("note", "marker"), share=(0.3, 1.0)), 1),
    (_http("503", ("note", "marker")), 1),
)
_OF_COMPACTION: tuple[tuple[Card, int], ...] = ((lambda _, __: CompactorKill(), 1),)
