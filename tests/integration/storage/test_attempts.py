"""Two attempts of one object at once, on a real S3 server: an object is never read with the facts of the other."""

import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import md5
from typing import TYPE_CHECKING, Any

import pytest

from logpersister.storage.errors import StorageError
from logpersister.storage.facts import ForeignObjectError
from logpersister.storage.store import ObjectStore
from tests.integration.storage.writing import FACTS, PART, MakeStore, begin, content, key_of, keys

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

RECORDS = {"a": 10, "b": 8}
"""Compaction has taken two records between the attempts."""
CONTENT = {who: content(PART, seed=ord(who)) for who in RECORDS}
TAGS = {f'"{md5(md5(CONTENT[who]).digest()).hexdigest()}-1"': records for who, records in RECORDS.items()}
"""By the entity tag of an object with their content, of one part: how many records it has."""


class Turns:
    """Lets attempts go on request by request in the order of a schedule; those behind its end come as they like."""

    def __init__(self, schedule: str) -> None:
        self._left = list(schedule)
        self._changed = threading.Condition()
        self._ended: set[str] = set()

    @contextmanager
    def turn(self, who: str) -> Iterator[None]:
        with self._changed:
            assert self._changed.wait_for(lambda: self._next() == who, 60), f"{who} waits; left: {self._left}"
            try:
                yield
            finally:
                self._left.pop(0)
                self._changed.notify_all()

    def end(self, who: str) -> None:
        with self._changed:
            self._ended.add(who)
            self._changed.notify_all()

    def _next(self) -> str | None:
        while self._left and self._left[0] in self._ended:
            self._left.pop(0)
        return self._left[0] if self._left else None


def attempt(
    who: str, store: ObjectStore, turns: Turns | None = None, check: Callable[[], None] = lambda: None, **arguments: Any
) -> threading.Thread:
    """Make the object in parts, in a thread, each request in a turn of its own; what changes something is checked."""
    connection, turns = store._connection, turns or Turns(who * 100)
    connection._lean = None  # all requests go by botocore
    doing = connection.doing

    @contextmanager
    def in_turn(*what: Any) -> Iterator[Any]:
        with turns.turn(who):
            try:
                with doing(*what) as client:
                    yield client
            finally:
                if what[0].startswith(("putting", "completing", "deleting")):
                    check()

    def run() -> None:
        try:
            writer = begin(store, 0, **arguments)
            writer.write(CONTENT[who])
            writer.finish({**FACTS, "records": str(RECORDS[who])})
        except StorageError as error:
            if error.code != "NoSuchUpload":  # else the other attempt has stored the object and ended this one
                raise
        finally:
            turns.end(who)
            connection.doing = doing  # type: ignore[method-assign]

    connection.doing = in_turn  # type: ignore[method-assign, assignment]
    thread = threading.Thread(target=run, name=who)
    thread.start()
    return thread


@pytest.mark.parametrize(("again", "most"), [(False, 4), (True, 8)], ids=["first", "again"])
def test_an_object_is_never_read_with_the_facts_of_another_attempt(
    make_store: MakeStore, s3: "S3Client", bucket: str, again: bool, most: int
) -> None:
    """A makes some of its requests, then B some, then A the rest, then B."""
    stores, reader = {who: make_store() for who in RECORDS}, make_store()
    problems: list[str] = []

    def check() -> None:
        try:
            facts = reader.facts(key_of(0))
        except ForeignObjectError as error:
            problems.append(str(error))
            return
        if facts is not None and facts.records != TAGS[s3.head_object(Bucket=bucket, Key=key_of(0))["ETag"]]:
            problems.append("it is read with the facts of another attempt")

    for of_a, of_b in itertools.product(range(most + 1), range(5)):
        turns = Turns("a" * of_a + "b" * of_b + "a" * 100 + "b" * 100)
        for thread in [attempt(who, stores[who], turns, check, sweep=again) for who in RECORDS]:
            thread.join()
        assert not problems, f"{of_a} requests of a, then {of_b} of b"
        assert len(keys(s3, bucket)) == 2 or not again, "the object and its facts, and no others"
        for key in keys(s3, bucket):
            s3.delete_object(Bucket=bucket, Key=key)


@pytest.mark.parametrize("again", [False, True], ids=["first", "again"])
def test_an_attempt_that_finds_the_object_there_leaves_no_facts(
    store: ObjectStore, s3: "S3Client", bucket: str, again: bool
) -> None:
    attempt("a", store).join()
    before = keys(s3, bucket)
    attempt("b", store, if_absent=True, sweep=again).join()
    assert keys(s3, bucket) == before
    facts = store.facts(key_of(0))
    assert facts is not None
    assert facts.records == RECORDS["a"]


def test_an_object_that_is_replaced_while_its_facts_are_looked_for_is_read_with_the_new_ones(
    make_store: MakeStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, other = make_store(), make_store()
    attempt("a", store).join()
    get_json = store.get_json

    def replaced(key: str) -> Any:
        monkeypatch.undo()
        attempt("b", other, sweep=True).join()
        return get_json(key)

    monkeypatch.setattr(store, "get_json", replaced)
    facts = store.facts(key_of(0))
    assert facts is not None
    assert facts.records == RECORDS["b"]
