"""Format archive, read by Python's tarfile and by tar, and what is in one archive of several."""

import gzip
import io
import lzma
import subprocess
import tarfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from itertools import groupby
from pathlib import Path
from typing import Final

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from logpersister.formats.archive import tar
from logpersister.formats.archive.consolidation import MANIFEST, Consolidation, hash_of
from logpersister.formats.archive.entries import LONGEST_KEY, MOST_REPEATS, Entries, Entry, hash_text
from logpersister.formats.archive.read import compression_of, entries_in
from logpersister.formats.archive.settings import ArchiveSpec
from logpersister.formats.archive.write import ArchiveFormat, consolidated
from logpersister.formats.damage import ContentError
from tests.examples import examples
from tests.unit.formats.samples import ARCHIVE_FORMATS, Record, batch, cut, encode, label, records, with_headers

NOON: Final = 1_795_521_600_000
DECOMPRESSED: Final[Mapping[str, Callable[[bytes], bytes]]] = {
    "gzip": gzip.decompress,
    "zstd": lambda content: zstandard.ZstdDecompressor().stream_reader(content).read(),
    "xz": lzma.decompress,
    "none": bytes,
}
"""By libraries of others, but for zstd."""
Headers = Sequence[tuple[bytes, bytes]]


def seen(
    rows: Sequence[tuple[int, str, str]], key: bytes = b"prices", headers: Mapping[str, Headers] | None = None
) -> list[Entry]:
    """Return the entries of one range: of records with a time in seconds, a replica and a value."""
    made = [Record(offset, NOON + 1000 * at, key, value.encode()) for offset, (at, _, value) in enumerate(rows)]
    of_each = [[(b"replica", replica.encode()), *(headers or {}).get(value, ())] for _, replica, value in rows]
    return [*Entries().of(with_headers(batch(made), of_each))]


def unpacked(content: bytes) -> dict[str, bytes]:
    """Return the files of an archive as Python's tarfile reads it."""
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        files = [(one, archive.extractfile(one)) for one in archive]
    return {one.name: b"" if file is None else file.read() for one, file in files}


@pytest.mark.parametrize("file_format", ARCHIVE_FORMATS, ids=label)
@examples(20)
@given(rows=records(), cuts=st.lists(st.integers(0, 30), max_size=4))
def test_every_record_is_a_file_or_repeats_the_one_before(
    file_format: ArchiveFormat, rows: list[Record], cuts: list[int]
) -> None:
    content = encode(file_format, cut(batch(rows), cuts))
    entries = [*entries_in(file_format.settings.compression, [content])]
    with_value = [row for row in rows if row.value is not None]
    assert [(one.offset, one.timestamp, one.key) for one in entries] == [row[:3] for row in with_value]
    last: dict[bytes | None, bytes | None] = {}
    for one, row in zip(entries, with_value, strict=True):
        is_repeat = last.get(row.key, object()) == row.value and len(row.key or b"") <= LONGEST_KEY
        assert one.is_repeat == is_repeat
        assert one.value == (b"" if one.is_repeat else row.value)
        assert hash_text(sha256(row.value or b"").digest()) in one.name
        last[row.key] = row.value
    files = {one.name: one.value for one in entries if not one.is_repeat}
    assert unpacked(DECOMPRESSED[file_format.settings.compression](content)) == files


@pytest.mark.parametrize("file_format", ARCHIVE_FORMATS, ids=label)
def test_tar_unpacks_it_without_a_word(file_format: ArchiveFormat, tmp_path: Path) -> None:
    """Also names of more than a hundred bytes, and what ends with a record that is left out."""
    keys = [b"prices", b"x" * 300, "ä/..".encode(), b"_late", None]
    rows = [Record(number, NOON + number, key, bytes([number]) * 700 * number) for number, key in enumerate(keys)]
    rows.append(Record(9, NOON + 9, None, rows[-1].value))
    content = encode(file_format, [with_headers(batch(rows), [[(b"postfix", b".json")], [(b"postfix", b"/../x")]])])
    plain = DECOMPRESSED[file_format.settings.compression](content)
    done = subprocess.run(["tar", "-x", "-C", str(tmp_path)], input=plain, capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (b"", b"")
    found = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    assert found == unpacked(plain)
    assert sorted(found.values()) == sorted(row.value or b"" for row in rows[:-1])
    assert all(
        (file.stat().st_mode & 0o777, int(file.stat().st_mtime)) == (0o600, NOON // 1000) for file in tmp_path.iterdir()
    )
    first = next(name for name in found if name.startswith("prices"))
    assert first == f"prices_20261124T120000.000Z_{hash_text(sha256(b'').digest())}.json"
    assert compression_of(f"a{file_format.extension}") == file_format.settings.compression


@pytest.mark.parametrize(
    ("template", "name"),
    [
        ("{feed}_{time}_{hash}{postfix}", "{feed}_{time}_{hash}.json"),
        ("{time}-{feed}.{hash}{postfix}", "{time}-{feed}.{hash}.json"),
        ("{hash}{postfix}_{time}", "{hash}.json_{time}"),
        ("a{feed}.{time}.{hash}", "a{feed}.{time}.{hash}"),
    ],
)
@pytest.mark.parametrize("feed", ["prices", "20261124T120000.000Z"])
def test_names_are_those_of_the_template_also_of_repeats_that_become_files(template: str, name: str, feed: str) -> None:
    """A b a: the last one repeats the first in the archive of its range, and is a file in that of the hour."""
    headers = [(b"postfix", b".json")]
    of_format = ArchiveFormat(ArchiveSpec(compression="none", file_name=template))
    sources = []
    for offset, rows in ((0, [(0, b"a"), (2, b"a")]), (10, [(1, b"b")])):
        made = [Record(offset + at, NOON + 1000 * at, feed.encode(), value) for at, value in rows]
        sources.append(encode(of_format, [with_headers(batch(made), [headers] * len(made))]))
    assert [one.is_repeat for one in entries_in("none", [sources[0]])] == [False, True]
    hour = Consolidation()
    for content in sources:
        hour.add_source(entries_in("none", [content]))
    expected = [
        name.format(feed=feed, time=f"20261124T12000{at}.000Z", hash=hash_text(sha256(value).digest()))
        for at, value in enumerate((b"a", b"b", b"a"))
    ]
    assert sorted(one for files in hour.files().values() for one, _ in files) == sorted(expected)


def test_the_same_content_by_its_header_is_left_out_and_another_by_the_same_name_is_not() -> None:
    same = {value: [(b"content-sha256", b"1" * 64)] for value in ("a1", "a2")}
    entries = seen([(0, "r0", "a1"), (1, "r1", "a2"), (2, "r0", "b"), (3, "r1", "a2")], headers=same)
    assert [one.is_repeat for one in entries] == [False, True, False, False]
    assert {one.replica for one in entries} == {"r0", "r1"}


def test_the_manifest_lists_polls_that_were_missed_of_repeats_too_and_what_is_no_number_says_nothing() -> None:
    def missed(polls: bytes, since: bytes) -> Headers:
        return [(b"missed-polls", polls), (b"missed-since", since)]

    since = str(NOON - 5000).encode()
    headers = {
        "a": missed(b"2", since),
        "b": missed(b"-1", since),
        "c": missed(b"1", b"now"),
        "d": missed(b"7" * 40, since),
    }
    rows = [(0, "r0", "a"), (1, "r1", "a"), (2, "r0", "b"), (3, "r0", "c"), (4, "r0", "d")]
    entries = seen(rows, headers=headers)
    assert [(one.missed, one.is_repeat) for one in entries[:3]] == [(2, False), (2, True), (0, False)]
    made, [of_format] = Consolidation(), [ArchiveFormat(ArchiveSpec(compression="none"))]
    records_ = [
        Record(offset, NOON + 1000 * at, b"prices", value.encode()) for offset, (at, _, value) in enumerate(rows)
    ]
    of_each = [[(b"replica", replica.encode()), *headers[value]] for _, replica, value in rows]
    content = encode(of_format, [with_headers(batch(records_), of_each)])
    assert [replace(one, value=b"") for one in entries_in("none", [content])] == [
        replace(one, value=b"") for one in entries
    ]
    made.add_source(entries_in("none", [content]))
    first, second = (
        {"feed": "prices", "replica": replica, "since": "20261124T115955.000Z", "until": until, "polls": 2}
        for replica, until in (("r0", "20261124T120000.000Z"), ("r1", "20261124T120001.000Z"))
    )
    before = {**second, "replica": "earlier"}
    assert made.missed_polls() == [first, second]
    assert made.missed_polls([before, first]) == [before, first, second]


def test_headers_of_other_programs_lose_no_content() -> None:
    """Hashes that begin alike are others, and a replica's name that has no end is not kept as often as it is seen."""
    hashes = {value: [(b"content-sha256", b"urn:example:" + b"0" * 30 + value.encode())] for value in "ab"}
    entries = seen([(0, "r" * 100_000, "a"), (1, "r" * 100_000, "b"), (2, "r", "b")], headers=hashes)
    made = Consolidation()
    made.add_source(iter(entries))
    assert [one.is_repeat for one in entries] == [False, False, True]
    assert made.files().keys() == {(0, 0), (0, 1)}
    assert max(len(one.replica) for one in entries) == 200


def spoilt(content: bytearray, place: int) -> bytes:
    content[place] ^= 1
    return bytes(content)


def test_what_is_damaged_is_told() -> None:
    content = encode(ArchiveFormat(ArchiveSpec(compression="none")), [batch([Record(7, NOON, b"k", b"value")])])
    unknown = replace(next(iter(entries_in("none", [content]))), key=b"other", is_repeat=True)
    for told, broken in {
        "it is cut off": content[:-1],
        "a header in it has another checksum": spoilt(bytearray(content), 1024),
        "bytes follow its end": content + b"\0",
        "one block of zeros": content[:-512] + b"x" * 512,
        "comment of file a": tar.file_header("a", 0, 0) + tar.END,
        "comment of file c": tar.file_header("c", 0, 0, '{"offset": 1, "time": 1, "content": "a", "timeAt": 0}')
        + tar.END,
        "comment of file b": tar.file_header("b", 0, 0, '{"offset": "x"}') + tar.END,
    }.items():
        with pytest.raises(ContentError, match=rf"no whole archive \(.*{told}"):
            list(entries_in("none", [broken]))
    with pytest.raises(ContentError, match="it leaves out offset 7"):
        Consolidation().add_source(iter([unknown]))


def test_many_repeats_are_a_file_again() -> None:
    """What is noted with one file stays small."""
    rows = [Record(number, NOON + number, b"k", b"same") for number in range(2 * MOST_REPEATS + 3)]
    rows += [Record(5000 + number, NOON, b"k" * (LONGEST_KEY + 1), b"same") for number in range(2)]
    content = encode(ArchiveFormat(ArchiveSpec()), [batch(rows)])
    entries = [*entries_in("gzip", [content])]
    assert [one.offset for one in entries] == [one.offset for one in rows]
    assert [one.offset for one in entries if not one.is_repeat] == [
        0,
        MOST_REPEATS + 1,
        2 * MOST_REPEATS + 2,
        5000,
        5001,
    ]
    assert len(unpacked(gzip.decompress(content))) == 5 - 1, "two of them have one name, and one content"


# One archive of several


def consolidation(*sources: Sequence[Entry]) -> tuple[Consolidation, dict[str, bytes]]:
    """Return what is chosen of archives of ranges, and the files of the one archive."""
    made = Consolidation()
    for one in sources:
        made.add_source(iter(one))
    content = b"".join(consolidated({"number": 1}, NOON // 1000, made.files(), sources))
    files = unpacked(content)
    assert files.pop(MANIFEST) == b'{\n "number": 1\n}\n'
    return made, files


def times_and_values(files: Mapping[str, bytes]) -> list[tuple[int, str]]:
    return sorted((int(name.split("_")[1][13:15]), value.decode()) for name, value in files.items())


def test_replicas_that_see_the_same_are_one_file_whatever_order_kafka_has_them_in() -> None:
    first = seen([(0, "r0", "a"), (5, "r0", "b"), (10, "r0", "a")])
    later = seen([(2, "r1", "a"), (7, "r1", "b"), (12, "r1", "a")])
    made, files = consolidation(first, later)
    assert times_and_values(files) == [(0, "a"), (5, "b"), (10, "a")]
    assert made.replicas() == {
        name: {"records": 3, "first": f"20261124T1200{first:02d}.000Z", "last": f"20261124T1200{last:02d}.000Z"}
        for name, first, last in (("r0", 0, 10), ("r1", 2, 12))
    }


def test_a_record_that_was_left_out_is_a_file_again_where_another_came_between_in_time() -> None:
    """The range has left out the second a, because the b of a slower replica came after it."""
    (first, left_out), late = seen([(0, "r0", "a"), (10, "r0", "a")]), seen([(5, "r1", "b")])
    assert (first.is_repeat, left_out.is_repeat) == (False, True)
    _, files = consolidation([first, left_out], late)
    assert times_and_values(files) == [(0, "a"), (5, "b"), (10, "a")]


_rows = st.lists(st.tuples(st.integers(0, 20), st.sampled_from(["r0", "r1", "r2"]), st.sampled_from("abc")), max_size=8)


@examples(150)
@given(ranges=st.lists(_rows, max_size=4))
def test_the_files_are_the_runs_of_contents_in_time(ranges: list[list[tuple[int, str, str]]]) -> None:
    _, files = consolidation(*map(seen, ranges))
    in_time = sorted(
        (
            (at, number, offset, value)
            for number, rows in enumerate(ranges)
            for offset, (at, _, value) in enumerate(rows)
        )
    )
    runs = [next(of_run) for _, of_run in groupby(in_time, key=lambda one: one[3])]
    assert times_and_values(files) == sorted({(at, value) for at, _, _, value in runs})
    assert hash_of([*files]) == hash_of([*files][::-1])


def test_a_source_that_has_changed_meanwhile_makes_no_archive() -> None:
    made, entries = Consolidation(), seen([(0, "r0", "a"), (1, "r0", "b")])
    made.add_source(iter(entries))
    with pytest.raises(ContentError, match="1 of its records"):
        list(consolidated({}, 0, made.files(), [entries[:1]]))
