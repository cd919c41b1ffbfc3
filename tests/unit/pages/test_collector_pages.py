"""Collectors and replays on the operator's pages: in tables of the first one, and a page for each collector."""

import pytest

from logpersister_operator.decide.conditions import Aspect
from logpersister_operator.observed_objects import Pod, view
from tests.unit.feeds.test_polled_feed import answer, feed, taken
from tests.unit.pages.html import Element
from tests.unit.pages.operator_world import OperatorWorld, Wrong, replica
from tests.unit.pages.test_operator_pages import table
from tests.unit.pages.test_site import facts, row

SILENT: Wrong = {Aspect.FEEDS_SPEAKING: ("False", "FeedsSilent", "1 feed is silent: status-page")}
PATH = "/collectors/shop/prices"


@pytest.fixture
def world() -> OperatorWorld:
    return OperatorWorld()


def plotted(page: Element) -> dict[str, str]:
    """Return what each plot says in words, by its title."""
    return {one.all("title")[0].text: one.all("desc")[0].text for one in page.all("svg")}


def test_collectors_stand_below_the_groups_the_worst_first(world: OperatorWorld) -> None:
    world.group("team-a/clicks-backup")
    assert "Feed collectors" not in world.page().words()
    world.collector("team-a/fine")
    silent = {Aspect.FEEDS_SPEAKING: ("False", "FeedsSilent", "2 feeds are silent, for example prices")}
    world.collector("team-a/silent", wrong=silent, silent=2)
    away = {Aspect.KAFKA_REACHABLE: ("False", "KafkaAway", "broker-1 refuses connections")}
    world.collector("team-b/waits", wrong=away, waiting=3_000)
    page = world.page()
    names = [one.children[0].words() for one in table(page, "Feed collectors")]
    assert names == ["team-b/waits", "team-a/silent", "team-a/fine"]
    waits, speechless = (row(page, name, "Feed collectors") for name in ("team-b/waits", "team-a/silent"))
    assert (waits["state"], waits["why"]) == ("Kafka is away", "broker-1 refuses connections")
    assert waits["waits for Kafka"] == "3,000 records, 2.9 MiB"
    assert (speechless["state"], speechless["silent"], speechless["feeds"]) == ("feeds are silent", "2", "40")
    assert (facts(page)["Collectors"], facts(page)["Collectors in trouble"]) == ("3", "2")
    assert facts(world.page(query="namespace=team-a"))["Collectors"] == "2"


def restarted() -> Pod:
    ended = {"exitCode": 137, "reason": "OOMKilled", "finishedAt": "2026-11-21T11:58:00Z"}
    container = {"name": "collector", "restartCount": 3, "lastState": {"terminated": ended}}
    metadata = {"name": "prices-collector-1", "namespace": "shop", "uid": "1", "resourceVersion": "1"}
    found = view({"kind": "Pod", "metadata": metadata, "status": {"containerStatuses": [container]}})
    assert isinstance(found, Pod)
    return found


def test_a_collector_has_a_page_with_plots_replicas_and_feeds_in_trouble(world: OperatorWorld) -> None:
    failing, silent = feed("weather"), feed("status-page")
    taken(failing, answer(status=503))
    silent.is_silent = True
    for turn in range(3):
        counts = {"new": 30 * turn, "unchanged": 60 * turn, "failed": 6 * turn, "missed": 2 * turn}
        first = replica(0, polls=counts, sent=30 * turn, waiting=12)
        second = replica(1, polls=counts, sent=30 * turn, away="no broker answers", feeds=[failing, silent])
        world.collector(wrong=SILENT, silent=1, waiting=12, said=(first, second), pods=[restarted()])
        world.site.look()
        world.clock.forward(60)
    home = world.page()
    (link,) = [one for one in home.all("a") if one.text == "shop/prices"]
    assert f"/{link.attributes['href']}" == PATH
    assert "most 60 a minute" in plotted(home)["Records sent to Kafka of FeedCollector shop/prices"]
    page = world.page(PATH)
    assert "1 feed is silent: status-page" in page.words()
    plots = plotted(page)
    assert "at the end 192 a minute" in plots["Polls"]
    assert "at the end 12 a minute" in plots["Failed polls"]
    assert "at the end 4 a minute" in plots["Missed polls"]
    assert "at the end 12." in plots["Records that wait in spools"]
    assert "at the end 1." in plots["Silent feeds"]
    known = facts(page)
    assert (known["Replicas ready"], known["Kafka"]) == ("2 of 2", "away from 1 of 2 replicas")
    assert (known["Records sent"], known["Polls missed"]) == ("120", "8")
    assert known["Waits for Kafka"] == "12 records, 12.0 KiB"
    assert row(page, "FeedsSpeaking", "Conditions")["reason"] == "FeedsSilent"
    assert row(page, "prices-collector-1", "Replicas")["state"] == "Kafka is away: no broker answers"
    weather = row(page, "weather", "Feeds in trouble")
    assert (weather["replica"], weather["state"]) == ("prices-collector-1", "failing")
    assert weather["reason"] == "the server answers 503"
    ends = row(page, "prices-collector-1", "Restarts")
    assert (ends["restarts"], ends["exit code"], ends["why"]) == ("3", "137", "OOMKilled")
    assert ends["last end"] == "2026-11-21 11:58:00Z"


def test_a_group_and_a_collector_of_one_name_have_pages_and_plots_of_their_own(world: OperatorWorld) -> None:
    world.group("shop/prices", lag=(7, 1.0))
    world.collector()
    world.site.look()
    assert "Group shop/prices" in world.page("/groups/shop/prices").words()
    assert "Collector shop/prices" in world.page(PATH).words()
    assert "Lag in records" in plotted(world.page("/groups/shop/prices"))
    assert "Lag in records" not in plotted(world.page(PATH))
    for path in ("/collectors", "/collectors/shop", "/collectors/shop/no", "/collectors/a/b/c", "/replays/shop/prices"):
        assert world.site.answer(path, "") is None, path


def test_replicas_that_start_anew_or_fall_silent_leave_no_peak(world: OperatorWorld) -> None:
    def look(*said: object) -> None:
        world.collector(said=said)  # type: ignore[arg-type]
        world.site.look()
        world.clock.forward(60)

    one, other = replica(0, polls={"new": 1_000_000}), replica(1, polls={"new": 5_000_000})
    look(one, other)
    look(one, "it did not answer in time")
    look(one, other)
    look(one, replica(1, polls={"new": 50}, started=60.0))
    assert "least 0 a minute, most 50 a minute, at the end 50 a minute." in plotted(world.page(PATH))["Polls"]
    look("it did not answer in time", "it did not answer in time")
    page = world.page(PATH)
    assert "at the end not known." in plotted(page)["Polls"]
    assert "prices-collector-1: it did not answer in time" in page.words()
    assert "No replica answers." in page.words()
    assert (facts(page)["Kafka"], facts(page)["Records sent"]) == ("?", "?")


def test_a_collector_that_nobody_has_reconciled_yet_has_a_page(world: OperatorWorld) -> None:
    world.collector()
    (key,) = world.collectors
    world.collectors[key] = type(world.collectors[key])(key, type(world.collectors[key].status)())
    page = world.page(PATH)
    assert "not reconciled yet" in page.words()
    assert "It has no plots" in page.words()
    assert {facts(page)[name] for name in ("Feeds", "Silent", "Replicas ready", "Waits for Kafka")} == {"?"}


def test_replays_stand_on_the_first_page_those_in_trouble_first(world: OperatorWorld) -> None:
    assert "Replays" not in world.page().words()
    world.replay("shop/a-done", "Switched", progress={"stored": 2_000}, summary={"progress": "100%"})
    end = world.clock.now()
    running = {"progress": "25%", "rate": "3.0MiB/s", "left": "2h10m"}
    world.replay("shop/b-runs", "Running", progress={"estimatedEnd": end}, summary=running)
    world.replay("web/c-failed", "Failed", wrong={Aspect.STALLED: ("True", "ReplayFailed", "3 attempts have failed")})
    page = world.page()
    names = [one.children[0].text for one in table(page, "Replays")]
    assert names == ["web/c-failed", "shop/b-runs", "shop/a-done"]
    runs, failed = row(page, "shop/b-runs", "Replays"), row(page, "web/c-failed", "Replays")
    assert (runs["state"], runs["progress"], runs["offsets stored"]) == ("Running", "25%", "500 of 2,000")
    assert (runs["rate"], runs["left"], runs["estimated end"]) == ("3.0MiB/s", "2h10m", "2026-11-21 12:00:00Z")
    assert (failed["state"], failed["why"]) == ("stalled: ReplayFailed", "3 attempts have failed")
    assert [one.children[0].text for one in table(world.page(query="namespace=web"), "Replays")] == ["web/c-failed"]


def test_what_another_version_says_ends_no_page(world: OperatorWorld) -> None:
    odd = {"collector": "prices", "polls": {"new": "many", "missed": 2}, "feeds": [7], "kafka": None, "spool": 7}
    for _ in range(2):
        world.collector(said=(odd, {"polls": 7}))
        world.site.look()
        world.clock.forward(60)
    page = world.page(PATH)
    assert (facts(page)["Polls missed"], facts(page)["Records sent"]) == ("2", "?")
    assert row(page, "prices-collector-1", "Replicas")["state"] == "another"
    assert "at the end 0 a minute." in plotted(page)["Polls"]
