"""What answers mean, and when each feed is polled: with a server and clocks of the test's own."""

import hashlib
import itertools
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from logpersister.feeds.collector import BROKEN, Collector
from logpersister.feeds.exchange import MOST_REDIRECTS, Answer, Request
from logpersister.feeds.polled_feed import Outcome, PolledFeed
from logpersister.feeds.record import Record
from logpersister.feeds.secret_texts import FRESH_SECONDS, SecretValues
from logpersister.manifest.blocks.feeds import FeedSpec
from logpersister.manifest.secrets import Secrets
from tests.stack.authority import Authority

NOON = 1_795_867_200.0
VALUES = {"LOGPERSISTER_SECRET_SHOP_KEY": "hidden"}


def feed(name: str = "prices", place: int = 0, values: SecretValues | None = None, **settings: Any) -> PolledFeed:
    document = {"id": name, "url": f"http://{name}.example.com/?key=${{secret:shop/key}}", "periodicity": "1s"}
    spec = FeedSpec.model_validate(document | settings)
    return PolledFeed.of(spec, place, 0.0, SecretValues(Secrets(VALUES)) if values is None else values, 0.0)


def answer(body: bytes = b"content", status: int = 200, **headers: str) -> Answer:
    return Answer(status, {name.replace("_", "-"): value for name, value in headers.items()}, body, seconds=0.0123)


def taken(polled: PolledFeed, one: Answer, now: float = 0.0) -> Outcome:
    return polled.take(one, "replica-1", now, NOON)


def test_new_content_is_a_record_with_all_that_is_known_and_no_secret() -> None:
    polled = feed(postfix=".json")
    outcome = taken(polled, answer(content_type="text/plain", etag='"1"'))
    assert outcome.record == Record(
        "prices",
        b"content",
        round(NOON * 1000),
        (
            ("replica", b"replica-1"),
            ("url", b"http://prices.example.com/?key=${secret:shop/key}"),
            ("status", b"200"),
            ("content-type", b"text/plain"),
            ("etag", b'"1"'),
            ("duration-ms", b"12"),
            ("sha256", hashlib.sha256(b"content").hexdigest().encode()),
            ("postfix", b".json"),
        ),
    )
    assert polled.request().url == "http://prices.example.com/?key=hidden"


def test_only_what_differs_from_the_one_before_is_new() -> None:
    polled = feed()
    bodies = [b"a", b"a", b"b", b"a", b"a"]
    assert [taken(polled, answer(body)).result for body in bodies] == ["new", "unchanged", "new", "new", "unchanged"]


def test_polls_without_an_answer_are_told_with_the_next_content_of_this_replica() -> None:
    polled, told = feed(content={"types": ["text/plain"]}), []
    text: dict[str, Any] = {"content_type": "text/plain"}
    answers = [
        *(answer(b"a", **text), Answer(0, error="refused"), answer(b"a", **text), answer(status=503)),
        *(answer(b"<html>", content_type="text/html"), answer(b"b", **text), answer(b"c", **text)),
    ]
    for at, one in enumerate(answers):
        record = polled.take(one, "replica-1", at, NOON + at).record
        if record is not None:
            headers = dict(record.headers)
            told.append((record.value, headers.get("missed-polls"), headers.get("missed-since")))
    assert told == [(b"a", None, None), (b"b", b"3", f"{round(NOON * 1000) + 1000}".encode()), (b"c", None, None)]


def test_a_rule_says_what_is_compared_and_the_record_has_all() -> None:
    polled = feed(content={"jsonPointer": "/data"})
    first = taken(polled, answer(b'{"at": 1, "data": 1}'))
    assert taken(polled, answer(b'{"at": 2, "data": 1}')).result == "unchanged"
    assert first.record is not None
    assert first.record.value == b'{"at": 1, "data": 1}'
    assert dict(first.record.headers)["content-sha256"] == hashlib.sha256(b"1").hexdigest().encode()


def test_requests_are_conditional_once_there_is_content() -> None:
    polled = feed()
    assert not any(line.startswith("If-") for line in polled.request().headers)
    taken(polled, answer(etag='"1"', last_modified="yesterday"))
    assert polled.request().headers[-2:] == ('If-None-Match: "1"', "If-Modified-Since: yesterday")
    assert taken(polled, answer(b"", 304)).result == "unchanged"
    polled.forget()
    assert not any(line.startswith("If-") for line in polled.request().headers)
    assert taken(polled, answer()).result == "new"


@pytest.mark.parametrize("status", [400, 412, 431])
def test_a_condition_that_a_server_may_not_like_is_left_out_once(status: int) -> None:
    polled = feed()
    taken(polled, answer(etag='"long"'))
    assert any(line.startswith("If-None-Match") for line in polled.request().headers)
    assert taken(polled, answer(b"", status)).result == "failed"
    assert not any(line.startswith("If-") for line in polled.request().headers)
    assert taken(polled, answer(etag='"long"')).result == "unchanged"


def test_a_page_of_an_error_is_no_content() -> None:
    polled = feed(content={"types": ["application/json"]})
    outcome = taken(polled, answer(b"<html>", content_type="text/html"))
    assert (outcome.result, outcome.reason) == ("refused", "content type text/html")
    assert taken(polled, answer(b"{}", content_type="application/json")).result == "new"


@pytest.mark.parametrize(
    ("one", "result", "reason"),
    [
        (answer(b"", 404), "failed", "the server answers 404"),
        (answer(b"", 204), "failed", "the server answers 204"),
        (answer(b"", 302), "failed", "the server answers 302"),
        (answer(b"", 304), "failed", "the server answers 304"),
        (answer(b"", 429), "throttled", "the server answers 429"),
        (answer(b"", 503), "throttled", "the server answers 503"),
        (Answer(200, body=b"", error="the connection broke"), "failed", "the connection broke"),
    ],
)
def test_what_is_no_content_is_told(one: Answer, result: str, reason: str) -> None:
    polled = feed()
    outcome = taken(polled, one)
    assert (outcome.result, outcome.reason, outcome.record) == (result, reason, None)
    assert polled.reason == reason
    assert (polled.resumes > 0) == (result == "throttled")


def test_a_feed_is_silent_when_nothing_new_comes_for_too_long() -> None:
    polled = feed(silentAfter="10s")
    taken(polled, answer(), 5.0)
    taken(polled, answer(), 14.0)
    assert not polled.is_overdue(15.0)
    assert polled.is_overdue(15.1)


@dataclass
class World:
    """Servers that answer as a function says, after some seconds of a clock that only waiting moves."""

    answers: Callable[[Request], tuple[float, Answer]]
    now: float = 100.0
    requests: list[tuple[float, Request]] = field(default_factory=list)
    running: list[tuple[float, Callable[[Answer], None], Answer]] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)
    late: list[float] = field(default_factory=list)
    missed_slots: int = 0
    outcomes: list[Outcome] = field(default_factory=list)
    is_full: bool = False

    def start(self, request: Request, done: Callable[[Answer], None]) -> None:
        self.requests.append((self.now, request))
        seconds, found = self.answers(request)
        self.running.append((self.now + seconds, done, found))

    def turn(self, seconds: float) -> None:
        first = min((ends for ends, _, _ in self.running), default=float("inf"))
        self.now = max(self.now, min(self.now + seconds, first)) + 1e-4
        ended = [one for one in self.running if one[0] <= self.now]
        self.running = [one for one in self.running if one[0] > self.now]
        for _, done, found in ended:
            done(found)

    def put(self, record: Record, forget: Callable[[], object]) -> None:
        self.records.append(record)

    def began(self, late: float) -> None:
        self.late.append(late)

    def missed(self, slots: int) -> None:
        self.missed_slots += slots

    def ended(self, outcome: Outcome, seconds: float, size: int) -> None:
        self.outcomes.append(outcome)

    def collector(self, *feeds: PolledFeed, per_host: int = 8) -> Collector:
        wall = NOON - self.now
        return Collector(feeds, "replica-1", per_host, self, self, self, lambda: self.now, lambda: wall + self.now)

    def run(self, collector: Collector, seconds: float) -> None:
        until = self.now + seconds
        while self.now < until:
            collector.turn()
            collector.look()


def test_a_slow_feed_keeps_others_on_time_and_misses_its_own_slots() -> None:
    def answers(request: Request) -> tuple[float, Answer]:
        return (2.5 if "slow" in request.url else 0.01), answer()

    world = World(answers)
    world.run(world.collector(feed("slow"), feed("quick", 1)), 60.5)
    asked = [when for when, request in world.requests if "quick" in request.url]
    assert len(asked) in {60, 61}
    assert max(world.late) < 0.01
    assert asked[-1] - asked[0] == pytest.approx(len(asked) - 1, abs=0.01)
    slow = [when for when, request in world.requests if "slow" in request.url]
    assert len(slow) in {20, 21}
    assert world.missed_slots == pytest.approx(2 * len(slow), abs=3)


def test_a_server_that_asks_for_a_pause_gets_it() -> None:
    world = World(lambda _: (0.01, answer(b"", 429, retry_after="7")))
    world.run(world.collector(feed()), 30)
    asked = [when for when, _ in world.requests]
    assert all(later - earlier >= 7 for earlier, later in itertools.pairwise(asked))
    assert len(asked) in {4, 5}
    assert world.missed_slots == 0


def test_a_host_is_not_asked_more_at_once_than_it_may() -> None:
    world = World(lambda _: (0.3, answer()))
    feeds = [feed(f"f{number}", number, url="http://one.example.com/") for number in range(20)]
    world.run(world.collector(*feeds, per_host=2), 20)
    running = [0]
    for when, change in sorted([(when, 1) for when, _ in world.requests] + [(w + 0.3, -1) for w, _ in world.requests]):
        running.append(running[-1] + change)
        assert when > 0
    assert max(running) == 2
    assert {one.spec.id for one in feeds if one.seen.digest is not None} == {one.spec.id for one in feeds}


def test_redirects_are_followed_so_often_at_most() -> None:
    moved = Answer(302, redirect="http://prices.example.com/next")
    world = World(lambda request: (0.01, answer() if request.url.endswith("/next") else moved))
    world.run(world.collector(feed()), 1.1)
    assert [one.result for one in world.outcomes] == ["new"]
    endless = World(lambda _: (0.001, moved))
    endless.run(endless.collector(feed()), 1.1)
    assert [(one.result, one.reason) for one in endless.outcomes] == [("failed", "the server answers 302")]
    assert len(endless.requests) == MOST_REDIRECTS + 1


def test_a_redirect_that_cannot_be_followed_fails_its_feed_only() -> None:
    def moved(request: Request) -> tuple[float, Answer]:
        if "nowhere" in request.url:
            raise ValueError("unforeseen")
        bad = request.url.endswith("/bad")
        return 0.01, Answer(302, redirect="http://prices.example.com/nowhere") if bad else answer()

    world = World(moved)
    good, bad = feed("good"), feed("bad", 1, url="http://prices.example.com/bad")
    world.run(world.collector(bad, good), 3)
    assert (good.reason, bad.reason) == ("", BROKEN)
    assert sum(one.result == "failed" for one in world.outcomes) >= 2


@pytest.mark.parametrize(
    ("settings", "key", "useless", "good"),
    [
        ({"url": "http://bad.example.com/?key=${secret:own/key}"}, "KEY", "\x7f", "a&b"),
        ({"headers": {"X-Key": "${secret:own/key}"}}, "KEY", "", "a&b"),
        ({"caSecretName": "own"}, "CA_CRT", "no certificate", Authority("feeds").certificate.decode()),
    ],
)
def test_a_secret_that_is_missing_or_useless_fails_its_feed_only_until_it_can_be_used(
    settings: dict[str, Any], key: str, useless: str, good: str
) -> None:
    world = World(lambda _: (0.01, answer()))
    secrets = dict(VALUES)
    values = SecretValues(Secrets(secrets), lambda: world.now)
    other, bad = feed("other", values=values), feed("bad", 1, values=values, **settings)
    collector = world.collector(other, bad)
    world.run(collector, 3)
    assert (other.reason, other.polls["failed"], bad.polls["new"]) == ("", 0, 0)
    assert bad.reason.startswith(f"spec.feeds[1].{next(iter(settings))}")
    assert "names the Secret own" in bad.reason
    assert bad.polls["failed"] >= 2

    secrets[f"LOGPERSISTER_SECRET_OWN_{key}"] = useless
    world.run(collector, 3)
    assert re.search("names (the|a) Secret .*own", bad.reason)
    secrets[f"LOGPERSISTER_SECRET_OWN_{key}"] = good
    world.run(collector, 3)
    assert (bad.reason, bad.polls["new"]) == ("", 1)
    secrets[f"LOGPERSISTER_SECRET_OWN_{key}"] = useless
    world.run(collector, FRESH_SECONDS + 3)
    assert bad.reason == "", "the value before is used"


def test_nothing_begins_while_disk_or_memory_cannot_keep_up() -> None:
    world = World(lambda _: (0.01, answer()), is_full=True)
    collector = world.collector(feed())
    world.run(collector, 5)
    assert world.requests == []
    world.is_full = False
    world.run(collector, 3)
    assert len(world.requests) in {3, 4}
    assert world.late[0] > 1


@pytest.mark.parametrize("part", ["request", "_judged"])
def test_a_feed_that_breaks_the_collector_breaks_itself_only(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    unbroken = getattr(PolledFeed, part)

    def broken(polled: PolledFeed, *arguments: Any) -> Any:
        is_told = bool(arguments) and arguments[0].error is not None
        if polled.spec.id == "bad" and not is_told:
            raise ValueError("unforeseen")
        return unbroken(polled, *arguments)

    monkeypatch.setattr(PolledFeed, part, broken)
    world = World(lambda _: (0.01, answer()))
    good, bad = feed("good"), feed("bad", 1)
    world.run(world.collector(bad, good), 5)
    assert good.seen.digest is not None
    assert bad.reason == BROKEN
    results = [one.result for one in world.outcomes]
    assert results.count("failed") in {4, 5}


def test_silence_is_told_and_ends() -> None:
    bodies = iter([b"a"] * 15 + [b"b"] * 100)
    world = World(lambda _: (0.01, answer(next(bodies))))
    polled = feed(silentAfter="10s")
    collector = world.collector(polled)
    world.run(collector, 13)
    assert polled.is_silent
    world.run(collector, 6)
    assert not polled.is_silent
