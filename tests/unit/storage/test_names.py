"""Names of objects: round trips, and that nothing can leave the prefix."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from logpersister.ranges import Range, TopicPartition
from logpersister.records.escaping import escape, is_safe_path, unescape
from logpersister.storage import names
from logpersister.storage.names import ObjectName, object_key, parse_object_key
from tests.examples import examples

SETTINGS = examples(100)

prefixes = st.sampled_from(["", "raw", "a/b", "raw!_.*'()=-", "_logpersister2"])
any_text = st.text(min_size=1, max_size=30)
topics = st.one_of(
    st.text("abcXYZ019._-", min_size=1, max_size=40),
    st.sampled_from([".", "..", "_logpersister", "%5Flogpersister", "_quarantine", "%5Fquarantine"]),
)
segments = any_text.map(escape).filter(lambda segment: len(segment) <= 200) | st.sampled_from(
    ["dt=2026-11-21", "hr=05", "_quarantine"]
)
paths = st.lists(segments, max_size=3).map("/".join)
extensions = st.sampled_from(["", ".txt", ".txt.gz", ".seq"])
generations = st.integers(0, 10**6)
partitions = st.integers(0, 2**31 - 1)
starts = st.integers(0, 2**63 - 1)


@SETTINGS
@given(any_text)
def test_escaping_is_undone_and_gives_one_harmless_segment(text: str) -> None:
    assert unescape(escape(text)) == text
    assert is_safe_path(escape(text)) or len(escape(text)) > 255
    assert "/" not in escape(text)


@SETTINGS
@given(any_text)
def test_only_what_escape_gives_is_unescaped(segment: str) -> None:
    text = unescape(segment)
    assert text is None or escape(text) == segment


def test_a_name_is_as_the_design_says() -> None:
    key = object_key("raw", "clicks", "dt=2026-11-21/hr=05", 2, 13, 4711, ".txt.gz")
    assert key == "raw/clicks/dt=2026-11-21/hr=05/2_13_00000000000000004711.txt.gz"
    assert object_key("", "clicks", "", 1, 0, 0, "") == "clicks/1_0_00000000000000000000"


@SETTINGS
@given(prefixes, topics, paths, generations, partitions, starts, extensions)
def test_names_are_parsed_back_and_stay_below_the_prefix(
    prefix: str, topic: str, path: str, generation: int, partition: int, start: int, extension: str
) -> None:
    key = object_key(prefix, topic, path, generation, partition, start, extension)
    assert parse_object_key(prefix, key) == ObjectName(topic, partition, generation, start, path, extension)
    assert key.startswith(f"{prefix}/" if prefix else "")
    below = key[len(prefix) + 1 :] if prefix else key
    assert not below.startswith(f"{names.OWN}/")
    assert not {"", ".", ".."} & set(key.split("/"))
    assert key.startswith(names.topic_prefix(prefix, topic))


@SETTINGS
@given(prefixes, st.text("/_.0123456789abt=%\n", max_size=60))
def test_whatever_is_parsed_is_a_name_that_we_give(prefix: str, tail: str) -> None:
    for key in (tail, f"{prefix}/t/1_0_00000000000000000001{tail}", f"{prefix}/t/{tail}/1_0_00000000000000000001.txt"):
        name = parse_object_key(prefix, key)
        if name is not None:
            again = object_key(
                prefix, name.topic, name.path, name.generation, name.partition, name.start, name.extension
            )
            assert again == key


@pytest.mark.parametrize(
    "key",
    [
        "raw/clicks/1_0_0000000000000000001.txt",  # 19 digits
        "raw/clicks/01_0_00000000000000000001.txt",
        "raw/clicks/1_0_00000000000000000001.txt\n",
        "raw/clicks/1_0_000000000000000000\u0661\u0660.txt",
        "raw/clicks/../1_0_00000000000000000001.txt",
        "raw/1_0_00000000000000000001.txt",
        "raw2/clicks/1_0_00000000000000000001.txt",
        "raw/_logpersister/g/facts/clicks/1_0_00000000000000000001.txt",
    ],
)
def test_names_that_are_not_ours_are_refused(key: str) -> None:
    assert parse_object_key("raw", key) is None


@pytest.mark.parametrize("path", ["/", "..", "a/../b", "a//b", "/a", "a/", "\x85", "a\nb", "a\\b", "x" * 256])
def test_paths_that_could_leave_the_topic_are_refused(path: str) -> None:
    with pytest.raises(ValueError, match="partition path"):
        object_key("raw", "clicks", path, 1, 0, 0, ".txt")


@SETTINGS
@given(prefixes, any_text, topics)
def test_what_a_group_remembers_is_in_a_folder_of_its_own(prefix: str, group: str, topic: str) -> None:
    assume(len(escape(group)) < 200)
    key = object_key(prefix, topic, "", 1, 0, 7, ".txt")
    lost = Range(TopicPartition(topic, 0), 1, 2)
    own = [
        names.revision_key(prefix, group, "0123456789ab"),
        names.facts_key(prefix, group, key, "0123456789abcdef"),
        names.loss_key(prefix, group, lost, "qD4sIuXQTmGcBSm4PNK0bw"),
        names.loss_key(prefix, group, lost, None),
        names.topic_key(prefix, group, topic, 1),
        names.probe_key(prefix, group, "0123456789abcdef"),
    ]
    assert len(set(own)) == len(own)
    for key in own:
        assert key.startswith(names.own_prefix(prefix, group))
        assert parse_object_key(prefix, key) is None
        assert not {"", ".", ".."} & set(key.split("/"))
    assert own[2].startswith(names.notes_prefix(prefix, group, names.LOSSES))


@SETTINGS
@given(st.dictionaries(st.sampled_from(["group", "topic", "topic-id", "Revision"]), st.text(max_size=50)))
def test_metadata_survives_as_plain_ascii(metadata: dict[str, str]) -> None:
    assume(not any("\ud800" <= char <= "\udfff" for text in metadata.values() for char in text))
    encoded = names.encode_metadata(metadata)
    assert all(text.isascii() and (text.isprintable()) and " " not in text for text in encoded.values())
    assert names.decode_metadata(encoded) == {name.lower(): text for name, text in metadata.items()}
