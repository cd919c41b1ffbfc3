"""Whose objects stand under a prefix: a start asks for little, however much stands there."""

from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from logpersister.cli import taken
from logpersister.storage import names
from logpersister.storage.errors import StorageError
from logpersister.storage.facts import ForeignObjectError
from tests.unit.manifest.documents import accepted

OTHERS = "another-group"


class Store:
    """A bucket with objects of one topic, by name in their order, and what each says of its group."""

    def __init__(self, topic: str, groups: Sequence[str | Exception], foreign: int = 0) -> None:
        self.prefix = ""
        self.listed = self.asked = 0
        head = names.topic_prefix("", topic)
        self._keys = [f"{head}a note of a user {number}" for number in range(foreign)]
        self._groups = {names.object_key("", topic, "", 1, 0, number, ".txt"): it for number, it in enumerate(groups)}

    def list_objects(self, _: str) -> Iterator[Any]:
        for key in [*self._keys, *self._groups]:
            self.listed += 1
            yield SimpleNamespace(key=key)

    def facts(self, key: str) -> Any:
        self.asked += 1
        found = self._groups[key]
        if isinstance(found, Exception):
            raise found
        return SimpleNamespace(group=found)


def problems(store: Any) -> list[str]:
    return list(taken.prefix_problems(accepted({}), store))


REFUSED = StorageError("unauthorized", "this key may not be used")
FOREIGN = ForeignObjectError("it has no metadata")


@pytest.mark.parametrize(
    ("groups", "asked", "is_taken"),
    [([OTHERS] * 9, 1, True), ([REFUSED, FOREIGN, OTHERS], 3, True), ([FOREIGN] * 99, 5, False)],
    ids=["the first tells", "some do not tell", "none tells"],
)
def test_few_objects_are_asked(
    groups: list[str | Exception], asked: int, is_taken: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    [topic] = accepted({}).spec.kafka.topics or ()
    store = Store(topic, groups)
    found = problems(store)
    assert [OTHERS in one for one in found] == ([True] if is_taken else [])
    assert store.asked == asked


def test_few_objects_are_listed_also_where_none_is_ours() -> None:
    [topic] = accepted({}).spec.kafka.topics or ()
    store = Store(topic, [], foreign=5000)
    assert not problems(store)
    assert store.listed == 1000


def test_a_bucket_that_is_away_is_an_error() -> None:
    [topic] = accepted({}).spec.kafka.topics or ()
    with pytest.raises(StorageError):
        problems(Store(topic, [StorageError("unreachable", "S3 is away")]))
