from itertools import pairwise

import pytest

from logpersister.plan import holds
from logpersister.plan.book import Book
from logpersister.plan.intents import Intent, Mark, stored
from logpersister.plan.recovery import Execute, Resume
from logpersister.ranges import Range, TopicPartition

CLICKS = TopicPartition("clicks", 0)
ORDERS = TopicPartition("orders", 0)


def intent(*ends: int, start: int = 0, revision: str = "rev", partition: TopicPartition = CLICKS) -> Intent:
    return Intent(partition, "id", start, ends, revision, 1)


def ranges(*boundaries: int) -> list[Range]:
    return [Range(CLICKS, start, end) for start, end in pairwise(boundaries)]


@pytest.fixture
def book() -> Book:
    """Clicks is ours under token 1, and idle at 0."""
    book = Book()
    book.own({CLICKS: 1})
    book.resolve(CLICKS, Resume(0), "id", 1)
    return book


def promise(book: Book, *ends: int) -> None:
    book.promised(intent(*ends))


def end(book: Book, *done: Range, token: int = 1) -> None:
    for range_ in done:
        book.started(range_)
        book.ended(range_, token, stored=True)


def test_a_new_assignment_knows_nothing_of_the_old_one(book: Book) -> None:
    promise(book, 10)
    assert book.own({CLICKS: 2, ORDERS: 3}) == [CLICKS]
    assert sorted(book.unresolved()) == [CLICKS, ORDERS]
    assert book.pending() == []
    assert book.own({CLICKS: 2, ORDERS: 3}) == []
    assert book.own({}) == [CLICKS, ORDERS]


def test_only_what_is_promised_runs_and_only_once(book: Book) -> None:
    assert list(book.runnable(0.0)) == []
    promise(book, 10, 20)
    assert list(book.runnable(0.0)) == ranges(0, 10, 20)
    book.started(Range(CLICKS, 0, 10))
    assert list(book.runnable(0.0)) == ranges(10, 20)
    assert book.idle() == {}


def test_commits_move_over_unbroken_ranges_only(book: Book) -> None:
    promise(book, 10, 20, 30)
    end(book, Range(CLICKS, 10, 20))
    assert book.commits() == {}
    end(book, Range(CLICKS, 0, 10))
    commit = book.commits()[CLICKS]
    assert commit.committed.offset == 20
    assert commit.committed.mark == Mark("id", 1, "rev", (30,))
    assert book.committed(CLICKS, commit) == 20
    end(book, Range(CLICKS, 20, 30))
    last = book.commits()[CLICKS]
    assert last.committed == stored(30, "id", 1, revision="rev")
    book.committed(CLICKS, last)
    assert book.idle() == {CLICKS: 30}
    assert book.commits() == {}


def test_a_failed_range_waits_and_is_tried_again_as_promised(book: Book) -> None:
    promise(book, 10, 20)
    assert not book.may_run_again(CLICKS)
    for number, range_ in enumerate(ranges(0, 10, 20), start=1):
        book.started(range_)
        book.ended(range_, 1, stored=False, retry_at=lambda failures: 100.0 * failures)
        assert list(book.runnable(100.0 * number - 1)) == []
    assert book.is_stuck(CLICKS)
    assert book.may_run_again(CLICKS)
    assert list(book.runnable(200.0)) == ranges(0, 10, 20)
    end(book, Range(CLICKS, 0, 10))
    assert not book.is_stuck(CLICKS)


def test_ranges_that_fail_together_are_one_failure(book: Book) -> None:
    promise(book, 10, 20, 30)
    failures: list[int] = []

    def retry_at(count: int) -> float:
        failures.append(count)
        return 0.0

    for _ in range(2):
        for range_ in ranges(0, 10, 20, 30):
            book.started(range_)
        for range_ in ranges(0, 10, 20, 30):
            book.ended(range_, 1, stored=False, retry_at=retry_at)
    assert failures == [1, 1, 1, 2, 2, 2]


def test_the_end_of_an_execution_under_another_ownership_says_nothing(book: Book) -> None:
    promise(book, 10)
    book.own({CLICKS: 2})
    book.resolve(CLICKS, Execute(intent(10)), "id", 1)
    book.started(Range(CLICKS, 0, 10))
    book.ended(Range(CLICKS, 0, 10), 1, stored=True)
    assert book.running([CLICKS])
    assert book.commits() == {}


def test_an_intent_that_is_taken_over_may_have_been_executed_before(book: Book) -> None:
    book.own({CLICKS: 2})
    book.resolve(CLICKS, Execute(intent(10, revision="theirs")), "id", 2)
    assert book.may_run_again(CLICKS)
    end(book, Range(CLICKS, 0, 10), token=2)
    assert book.commits()[CLICKS].committed == stored(10, "id", 1, revision="theirs"), (
        "under the generation of the intent"
    )
    assert book.is_of_higher_generation(CLICKS, 0) is False, "it is still pending"
    book.committed(CLICKS, book.commits()[CLICKS])
    assert book.is_of_higher_generation(CLICKS, 0)
    assert not book.is_of_higher_generation(CLICKS, 1)


def test_in_doubt_what_was_stored_stays_stored_when_the_intent_still_stands(book: Book) -> None:
    promise(book, 10, 20, 30)
    book.started(Range(CLICKS, 20, 30))
    end(book, Range(CLICKS, 0, 10))
    book.doubt(CLICKS)
    assert book.unresolved() == [CLICKS]
    assert book.commits() == {}
    assert list(book.runnable(0.0)) == []
    book.ended(Range(CLICKS, 20, 30), 1, stored=True)  # while in doubt
    book.resolve(CLICKS, Execute(intent(10, 20, 30)), "id", 1)
    assert list(book.runnable(0.0)) == ranges(10, 20)
    assert book.commits()[CLICKS].committed.offset == 10


def test_in_doubt_a_commit_may_have_arrived(book: Book) -> None:
    promise(book, 10, 20)
    end(book, Range(CLICKS, 0, 10))
    book.doubt(CLICKS)
    book.resolve(CLICKS, Execute(intent(20, start=10)), "id", 1)
    assert list(book.runnable(0.0)) == ranges(10, 20)
    assert book.commits() == {}
    book.doubt(CLICKS)
    book.resolve(CLICKS, Resume(20), "id", 1)
    assert book.idle() == {CLICKS: 20}


@pytest.mark.parametrize(
    "other", [intent(10, 20, revision="other"), intent(10, 30), Intent(CLICKS, "id", 0, (10, 20), "rev", 2)]
)
def test_in_doubt_nothing_counts_for_another_intent(book: Book, other: Intent) -> None:
    promise(book, 10, 20)
    end(book, Range(CLICKS, 0, 10))
    book.doubt(CLICKS)
    book.resolve(CLICKS, Execute(other), "id", 1)
    assert next(book.runnable(0.0)) == Range(CLICKS, 0, 10)


def test_a_held_partition_keeps_its_intent_and_runs_nothing(book: Book) -> None:
    promise(book, 10)
    book.hold(CLICKS, holds.data_lost(CLICKS, 0, 5))
    assert list(book.runnable(0.0)) == []
    assert book.pending() == [intent(10)]
    assert book.is_stuck(CLICKS)
    book.doubt(CLICKS)
    assert book.unresolved() == [], "a person decides, not a lost answer"
    assert book.positions() == {CLICKS: 0}


def test_ranges_that_kafka_has_deleted_are_given_up_and_the_others_are_not(book: Book) -> None:
    promise(book, 10, 20, 30)
    book.give_up_before(CLICKS, 25)
    assert book.commits()[CLICKS].committed.offset == 20
    assert list(book.runnable(0.0)) == ranges(20, 30)


def test_an_idle_partition_moves_forward_only(book: Book) -> None:
    assert book.promise_position(CLICKS, 40).committed == stored(40, "id", 1)
    book.move(CLICKS, 40)
    assert book.idle() == {CLICKS: 40}
    with pytest.raises(ValueError, match="cannot move"):
        book.move(CLICKS, 39)
    book.promised(intent(50, start=40))
    with pytest.raises(ValueError, match="cannot move"):
        book.move(CLICKS, 60)


def test_an_answer_that_comes_too_late_changes_nothing(book: Book) -> None:
    promise(book, 10)
    end(book, Range(CLICKS, 0, 10))
    commit = book.commits()[CLICKS]
    book.own({CLICKS: 2})
    assert book.committed(CLICKS, commit) == 0
    assert book.positions() == {}
    book.own({})
    book.promised(intent(10))
    book.doubt(CLICKS)
    book.hold(CLICKS, holds.data_lost(CLICKS, 0, 5))
    assert book.token(CLICKS) is None


def marks(book: Book) -> list[tuple[int, int, int | None]]:
    """Return offset, generation and its beginning of what could be committed."""
    found = [commit.committed for commit in book.commits().values()]
    return [(one.offset, one.mark.generation, one.mark.since) for one in found if one.mark is not None]


def test_every_commit_says_where_its_generation_began(book: Book) -> None:
    book.own({CLICKS: 2})
    theirs = Intent(CLICKS, "id", 10, (20, 30), "theirs", 1)
    book.resolve(CLICKS, Execute(theirs, since=5), "id", 2)
    end(book, Range(CLICKS, 10, 20), token=2)
    assert marks(book) == [(20, 1, 5)]
    end(book, Range(CLICKS, 20, 30), token=2)
    assert marks(book) == [(30, 1, 5)], "who finishes an intent of another generation says so"
    book.committed(CLICKS, book.commits()[CLICKS])
    ours = Intent(CLICKS, "id", 30, (40,), "ours", 2)
    assert book.promise(ours).committed.mark == Mark("id", 2, "ours", (40,), since=30)
    book.promised(ours)
    end(book, Range(CLICKS, 30, 40), token=2)
    assert book.commits()[CLICKS].committed == stored(40, "id", 2, revision="ours", since=30)
    book.committed(CLICKS, book.commits()[CLICKS])
    assert book.promise(Intent(CLICKS, "id", 40, (50,), "ours", 2)).committed.mark == Mark("id", 2, "ours", (50,), 30)
