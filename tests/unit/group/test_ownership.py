from logpersister.group.answers import CommitOutcome
from logpersister.group.ownership import Ownership
from logpersister.plan.intents import stored
from logpersister.plan.partitions import Commit
from logpersister.ranges import TopicPartition

CLICKS = TopicPartition("clicks", 0)
ORDERS = TopicPartition("orders", 0)


def owning(*partitions: TopicPartition) -> Ownership:
    ownership = Ownership()
    ownership.gain(partitions)
    return ownership


def commit(ownership: Ownership, partition: TopicPartition = CLICKS) -> dict[TopicPartition, Commit]:
    return {partition: Commit(ownership.tokens().get(partition, 0), stored(5, "id", 1))}


def refused(ownership: Ownership, commits: dict[TopicPartition, Commit], *, promise: bool) -> set[TopicPartition]:
    outcome = CommitOutcome()
    with ownership.committing(commits, outcome, promise=promise) as allowed:
        assert allowed.keys() | outcome.refused == commits.keys()
    return outcome.refused


def test_a_commit_under_the_token_of_an_earlier_assignment_is_refused() -> None:
    ownership = owning(CLICKS)
    old = commit(ownership)
    assert refused(ownership, old, promise=False) == set()
    ownership.lose({CLICKS})
    assert refused(ownership, old, promise=False) == {CLICKS}
    ownership.gain([CLICKS])
    assert refused(ownership, old, promise=False) == {CLICKS}
    assert refused(ownership, commit(ownership), promise=False) == set()


def test_once_a_revocation_has_begun_what_is_stored_may_be_committed_and_nothing_promised_or_started() -> None:
    ownership = owning(CLICKS, ORDERS)
    ownership.begin_revocation({CLICKS})
    both = commit(ownership) | commit(ownership, ORDERS)
    assert refused(ownership, both, promise=True) == {CLICKS}
    assert refused(ownership, both, promise=False) == set()
    assert ownership.retain(ownership.tokens()) == {ORDERS}
    assert CLICKS in ownership.tokens(), "it is ours until it is lost"


def test_a_revocation_can_wait_for_what_is_executed() -> None:
    ownership = owning(CLICKS)
    assert ownership.retain({CLICKS: ownership.tokens()[CLICKS] + 1}) == set(), "an old token holds nothing"
    assert ownership.retain(ownership.tokens()) == {CLICKS}
    assert ownership.is_busy({CLICKS, ORDERS})
    assert not ownership.is_busy({ORDERS})
    ownership.release([CLICKS])
    assert not ownership.is_busy({CLICKS})


def test_what_was_lost_keeps_nothing_busy() -> None:
    ownership = owning(CLICKS)
    ownership.retain(ownership.tokens())
    ownership.begin_revocation({CLICKS})
    ownership.lose({CLICKS})
    ownership.gain([CLICKS])
    assert not ownership.is_busy({CLICKS})
    assert ownership.retain(ownership.tokens()) == {CLICKS}, "the next assignment is not being revoked"


def test_commits_in_flight_are_seen_until_they_end_however_they_end() -> None:
    ownership = owning(CLICKS)
    with ownership.committing(commit(ownership), CommitOutcome(), promise=False):
        assert ownership.is_committing()
        ownership.lose({CLICKS})
        assert ownership.is_committing(), "losing the partition does not end the commit"
    assert not ownership.is_committing()
    try:
        with ownership.committing({}, CommitOutcome(), promise=False):
            raise ConnectionError
    except ConnectionError:
        assert not ownership.is_committing()
