"""What the store finds in a bucket, and what groups note there."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock

import pytest

from logpersister.ranges import Range, TopicPartition
from logpersister.records.escaping import QUARANTINE
from logpersister.storage.ahead import first_ahead, newest_folders
from logpersister.storage.errors import StorageError
from logpersister.storage.facts import ForeignObjectError
from logpersister.storage.finished import (
    Arrival,
    FinishedTo,
    FolderContent,
    FolderObject,
    finish_to,
    finished_to,
    folder_content,
    list_arrivals,
    note_arrival,
    note_told,
    put_folder_content,
    read_arrivals,
)
from logpersister.storage.losses import Loss, list_losses, record_loss
from logpersister.storage.names import finished_key, folder_key, object_key, topic_key
from logpersister.storage.revisions import get_revision, put_revision
from logpersister.storage.store import ObjectStore
from logpersister.storage.topics import TopicNote, bind_topic, first_note, note_selection
from logpersister.storage.untold import Untold, delete_untold, list_untold, put_untold
from tests.integration.storage.writing import (
    GROUP,
    PART,
    begin,
    content,
    facts_of,
    key_of,
    keys,
    read,
    write_in_pieces,
)

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


def test_documents_come_back_and_the_same_document_is_the_same_bytes(
    store: ObjectStore, s3: "S3Client", bucket: str
) -> None:
    assert store.get_json("raw/x.json") is None
    store.put_json("raw/x.json", {"b": 1, "a": "ü"})
    once = read(s3, bucket, "raw/x.json")
    store.put_json("raw/x.json", {"a": "ü", "b": 1})
    assert read(s3, bucket, "raw/x.json") == once
    assert store.get_json("raw/x.json") == {"a": "ü", "b": 1}
    s3.put_object(Bucket=bucket, Key="raw/y.json", Body=b"[1]")
    with pytest.raises(StorageError, match="expected a JSON object"):
        store.get_json("raw/y.json")


def test_listings_go_over_pages_and_the_inventory_leaves_out_what_is_not_ours(
    store: ObjectStore, s3: "S3Client", bucket: str
) -> None:
    _list_in_pages_of(10, store)
    for start in range(25):
        s3.put_object(Bucket=bucket, Key=key_of(start), Body=b"")
    s3.put_object(Bucket=bucket, Key="raw/clicks/README.txt", Body=b"")
    s3.put_object(Bucket=bucket, Key="raw/clicks2/1_0_00000000000000000000.txt", Body=b"")
    listed = [listed.key for listed in store.list_objects("raw/clicks/")]
    assert len(listed) == 26
    assert listed == sorted(listed)
    assert [name.start for name, _ in store.inventory("clicks")] == list(range(25))
    assert len(list(store.list_objects("raw/clicks/1_0_", start_after=key_of(19)))) == 5
    assert len(list(store.list_objects())) == 27


def _list_in_pages_of(keys_: int, store: ObjectStore) -> None:
    def limit(params: dict[str, Any], **_: object) -> None:
        params["MaxKeys"] = keys_

    store._connection.client.meta.events.register("before-parameter-build.s3.ListObjectsV2", limit)


def test_a_foreign_object_and_a_lost_facts_document_are_told_apart(
    store: ObjectStore, s3: "S3Client", bucket: str
) -> None:
    assert store.facts(key_of(0)) is None
    assert store.metadata(key_of(0)) is None
    s3.put_object(Bucket=bucket, Key=key_of(0), Body=b"", Metadata={"group": "x"})
    with pytest.raises(ForeignObjectError, match="was not written by logpersister"):
        store.facts(key_of(0))
    writer = begin(store, 100)
    write_in_pieces(writer, content(PART))
    writer.finish(facts_of(100))
    (document,) = [key for key in keys(s3, bucket) if "/facts/" in key]
    s3.delete_object(Bucket=bucket, Key=document)
    with pytest.raises(ForeignObjectError, match="facts document is missing"):
        store.facts(key_of(100))


def test_a_revision_is_stored_once_and_never_changed(store: ObjectStore) -> None:
    assert get_revision(store, GROUP, "0123456789ab") is None
    put_revision(store, GROUP, "0123456789ab", {"spec": {"generation": 1}})
    put_revision(store, GROUP, "0123456789ab", {"spec": {"generation": 1}})
    assert get_revision(store, GROUP, "0123456789ab") == {"spec": {"generation": 1}}
    with pytest.raises(StorageError, match="another document stands under the hash"):
        put_revision(store, GROUP, "0123456789ab", {"spec": {"generation": 2}})


def test_losses_are_recorded_once_each(store: ObjectStore) -> None:
    lost = Loss(Range(TopicPartition("clicks", 3), 10, 20), "qD4s_Q-w", "lost", 1, "0123456789ab")
    skipped = Loss(Range(TopicPartition("clicks", 3), 30, 40), None, "skipped", 1, "0123456789ab")
    for loss in (lost, skipped, lost):
        record_loss(store, GROUP, loss)
    assert list(list_losses(store, GROUP)) == [lost, skipped]
    assert list(list_losses(store, "another")) == []


def test_the_first_topic_of_a_name_stays_that_of_its_generation(
    store: ObjectStore, s3: "S3Client", bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b, c = (TopicNote(topic_id, 3, (10, 0, 20)) for topic_id in "ABC")
    assert [bind_topic(store, GROUP, "clicks", 1, note) for note in (a, b, a)] == [a, a, a]
    assert bind_topic(store, GROUP, "clicks", 2, b) == b
    assert bind_topic(store, "another", "clicks", 1, c) == c
    key = topic_key("raw", GROUP, "clicks", 1)
    found = iter([None, store.get_json(key)])
    with monkeypatch.context() as patch:
        patch.setattr(store, "get_json", lambda _: next(found))
        assert bind_topic(store, GROUP, "clicks", 1, b) == a, "somebody else was faster"
    for damaged in (b"{}", b'{"topicId": "A", "begins": ["x"]}'):
        s3.put_object(Bucket=bucket, Key=key, Body=damaged)
        with pytest.raises(ForeignObjectError, match="see who changed it"):
            bind_topic(store, GROUP, "clicks", 1, a)
    s3.put_object(Bucket=bucket, Key=key, Body=b'{"topicId": "A", "mood": "good"}')
    assert bind_topic(store, GROUP, "clicks", 1, a) == TopicNote("A"), "of an older release"


def test_where_a_topic_was_begun_with_is_noted_by_the_first_generation_about_it(store: ObjectStore) -> None:
    assert first_note(store, GROUP, "clicks", "A") is None
    begun = TopicNote("A", 2, (10, 20))
    for generation, note in ((1, TopicNote("old", 2, (7, 7))), (2, begun), (10, TopicNote("A", 3))):
        bind_topic(store, GROUP, "clicks", generation, note)
    assert first_note(store, GROUP, "clicks", "A") == begun, "numbers are not in the order of their digits"
    assert first_note(store, GROUP, "click", "A") is None


def test_the_topics_of_a_selection_are_those_that_there_were_first(store: ObjectStore) -> None:
    selection = {"pattern": "web.*"}
    assert list(note_selection(store, GROUP, selection, ["web.b", "web.a"])) == ["web.a", "web.b"]
    assert list(note_selection(store, GROUP, selection, ["web.a", "web.b", "web.c"])) == ["web.a", "web.b"]
    assert list(note_selection(store, GROUP, {"topics": ["web.c"]}, ["web.c"])) == ["web.c"]


def test_a_snapshot_that_cannot_be_read_is_put_again(store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its name is its content. A lifecycle rule has moved it to an archive class, which GET refuses."""
    document = {"spec": {"generation": 1}}
    put_revision(store, GROUP, "0123456789ab", document)
    with monkeypatch.context() as patch:
        patch.setattr(store, "get_json", Mock(side_effect=StorageError("rejected", "InvalidObjectState")))
        put_revision(store, GROUP, "0123456789ab", document)
        patch.setattr(store, "get_json", Mock(side_effect=StorageError("timeout", "away")))
        with pytest.raises(StorageError, match="away"):
            put_revision(store, GROUP, "0123456789ab", document)
    assert get_revision(store, GROUP, "0123456789ab") == document


@pytest.mark.parametrize("extension", [".txt.gz", ""])
def test_objects_behind_an_offset_are_found_by_one_listing(
    store: ObjectStore, s3: "S3Client", bucket: str, extension: str
) -> None:
    zero, one, ten = (TopicPartition("clicks", number) for number in (0, 1, 10))
    for generation, partition, start in ((1, 0, 0), (1, 0, 100), (2, 0, 500), (1, 10, 300)):
        key = object_key("raw", "clicks", "", generation, partition, start, extension)
        s3.put_object(Bucket=bucket, Key=key, Body=b"x")
    assert first_ahead(store, {zero: 101, one: 0, ten: 0}, 1, in_folders=False) == {zero: None, one: None, ten: 300}
    assert first_ahead(store, {zero: 0}, 1, in_folders=False) == {zero: 0}
    for position in (1, 99, 100):
        assert first_ahead(store, {zero: position}, 1, in_folders=False) == {zero: 100}
    assert first_ahead(store, {zero: 101}, 2, in_folders=False) == {zero: 500}


def test_objects_behind_an_offset_are_looked_for_in_the_last_folders(
    store: ObjectStore, s3: "S3Client", bucket: str
) -> None:
    zero = TopicPartition("clicks", 0)
    for path, start in (
        ("dt=2026-11-20/hr=23", 900),
        ("dt=2026-11-21/hr=00", 100),
        ("dt=2026-11-21/hr=01", 200),
        ("dt=2026-11-21/hr=02", 300),
        (QUARANTINE, 1000),
        ("_late/dt=2026-11-21/hr=01", 1100),
    ):
        s3.put_object(Bucket=bucket, Key=object_key("raw", "clicks", path, 1, 0, start, ".txt"), Body=b"x")
    assert newest_folders(store, "clicks")[-2:] == ["dt=2026-11-21/hr=01", "dt=2026-11-21/hr=02"]
    assert first_ahead(store, {zero: 250}, 1, in_folders=True) == {zero: 300}
    assert first_ahead(store, {zero: 301}, 1, in_folders=True) == {zero: None}, "older folders are not looked into"


def test_a_bucket_that_fails_leaves_the_question_open(store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
    error = StorageError("timeout", "away")
    monkeypatch.setattr(store, "first_keys", Mock(side_effect=error))
    monkeypatch.setattr(store, "folders", Mock(side_effect=error))
    for in_folders in (False, True):
        found = first_ahead(store, {TopicPartition("clicks", 0): 5}, 1, in_folders=in_folders)
        assert found == {TopicPartition("clicks", 0): error}


def test_documents_are_replaced_only_by_who_has_read_them(store: ObjectStore, s3: "S3Client", bucket: str) -> None:
    assert store.replace_json("raw/x.json", {"n": 1}, None)
    assert not store.replace_json("raw/x.json", {"n": 0}, None), "there is one"
    found = store.get_tagged("raw/x.json")
    assert found is not None
    assert store.replace_json("raw/x.json", {"n": 2}, found[1])
    assert not store.replace_json("raw/x.json", {"n": 0}, found[1]), "that one was replaced"
    assert store.get_json("raw/x.json") == {"n": 2}
    store.delete("raw/x.json")
    assert not store.replace_json("raw/x.json", {"n": 0}, found[1]), "it has gone"
    store.put_marker("raw/_SUCCESS")
    assert read(s3, bucket, "raw/_SUCCESS") == b""


def test_folders_behind_a_name(store: ObjectStore, s3: "S3Client", bucket: str) -> None:
    for path in ("a", "b/c", "b/d", "c"):
        s3.put_object(Bucket=bucket, Key=f"raw/clicks/{path}/x", Body=b"")
    s3.put_object(Bucket=bucket, Key="raw/clicks/a_file", Body=b"")
    assert list(store.folders("raw/clicks/")) == ["raw/clicks/a/", "raw/clicks/b/", "raw/clicks/c/"]
    assert list(store.folders("raw/clicks/", behind="aa")) == ["raw/clicks/b/", "raw/clicks/c/"]
    assert list(store.folders("raw/clicks/", behind="c~")) == []


def test_notes_of_finished_folders(store: ObjectStore, s3: "S3Client", bucket: str) -> None:
    assert finished_to(store, GROUP, "clicks") is None
    for instant in (1000, 2000, 1500):  # the last one is of a process that has slept
        finish_to(store, GROUP, "clicks", FinishedTo(instant, generation=2))
    assert finished_to(store, GROUP, "clicks") == FinishedTo(2000, 2)
    finish_to(store, GROUP, "clicks", FinishedTo(2000, 3))
    finish_to(store, GROUP, "clicks", FinishedTo(2000, 1))
    assert finished_to(store, GROUP, "clicks") == FinishedTo(2000, 3)
    finish_to(store, GROUP, "clicks", FinishedTo(3000, 1))
    finished = finished_to(store, GROUP, "clicks")
    assert finished is not None
    assert [finished.horizon(generation) for generation in (1, 2)] == [3000, None]
    s3.put_object(Bucket=bucket, Key=finished_key("raw", GROUP, "old"), Body=b'{"topic": "old", "finishedTo": 7}')
    assert finished_to(store, GROUP, "old") == FinishedTo(7), "of an earlier release"

    path = "dt=2026-11-21/hr=05"
    content = FolderContent("clicks", path, "e", 1, {0: 5, 10: 7}, (FolderObject("a.txt", 0, 1, 0, 3, 30),))
    assert put_folder_content(store, GROUP, content, None)
    note_told(store, GROUP, replace(content, number=3), "webhook")
    note_told(store, GROUP, replace(content, number=2), "webhook")
    note_told(store, GROUP, content, "kafka")
    found = folder_content(store, GROUP, "clicks", path)
    assert found is not None
    assert found[0] == replace(content, told={"webhook": 3, "kafka": 1})
    s3.put_object(Bucket=bucket, Key=folder_key("raw", GROUP, "clicks", path), Body=b'{"topic": "clicks"}')
    with pytest.raises(StorageError, match="is not what a folder has in it"):
        folder_content(store, GROUP, "clicks", path)

    untold = [Untold(path, number) for number in (1, 2, 10)]
    for one in untold:
        put_untold(store, GROUP, "webhook", "clicks", one)
    put_untold(store, GROUP, "webhook", "_quarantine", Untold("a/b", 7))
    assert sorted(list_untold(store, GROUP, "webhook")["clicks"]) == untold
    assert list_untold(store, GROUP, "webhook")["_quarantine"] == [Untold("a/b", 7)]
    delete_untold(store, GROUP, "webhook", "clicks", untold[:2])
    assert list_untold(store, GROUP, "webhook")["clicks"] == untold[2:]
    assert list_untold(store, GROUP, "kafka") == {}

    arrivals = [Arrival(Range(TopicPartition("clicks", 0), 0, end), 1, (path,)) for end in (5, 5, 7)]
    for arrival in arrivals:
        note_arrival(store, GROUP, arrival)
    listed = list_arrivals(store, GROUP)["clicks"]
    assert [arrival for _, arrival in read_arrivals(store, [*listed, "raw/gone"])] == arrivals[2:]
