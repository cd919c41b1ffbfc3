"""Which object of a backup is read for which offsets, and what is a hole."""

from hypothesis import given
from hypothesis import strategies as st

from logpersister.backup.ranges import BackupObject, Explained, PartitionBackup, partition_backups
from logpersister.ranges import Range, TopicPartition

PARTITION = TopicPartition("clicks", 0)
END = 40

Spans = list[tuple[int, int]]


def stored(start: int, end: int, generation: int = 1) -> BackupObject:
    return BackupObject(f"{generation}/{start}", Range(PARTITION, start, end), generation, end - start, start, end - 1)


def backup(*objects: BackupObject, explained: tuple[Explained, ...] = ()) -> PartitionBackup:
    return partition_backups(objects, explained)[PARTITION]


def spans(ranges: tuple[Range, ...]) -> Spans:
    return [(one.start, one.end) for one in ranges]


def read(found: PartitionBackup) -> list[tuple[str, int, int]]:
    return [(piece.object.key, piece.range.start, piece.range.end) for piece in found.pieces]


def test_objects_follow_each_other() -> None:
    found = backup(stored(20, 30), stored(10, 20))
    assert read(found) == [("1/10", 10, 20), ("1/20", 20, 30)]
    assert (found.start, found.end, found.holes, found.lost) == (10, 30, (), ())
    assert all(piece.is_whole and piece.object.is_dense for piece in found.pieces)


def test_the_highest_generation_is_read() -> None:
    found = backup(stored(0, 30), stored(10, 15, 2), stored(20, 40, 2))
    assert read(found) == [("1/0", 0, 10), ("2/10", 10, 15), ("1/0", 15, 20), ("2/20", 20, 40)]
    assert [piece.is_whole for piece in found.pieces] == [False, True, False, True]


def test_what_is_noted_is_no_hole() -> None:
    notes = (
        Explained(Range(PARTITION, 10, 12), 1, is_lost=False),
        Explained(Range(PARTITION, 14, 16), 1, is_lost=True),
    )
    found = backup(stored(0, 10), stored(20, 30), explained=notes)
    assert spans(found.holes) == [(12, 14), (16, 20)]
    assert spans(found.lost) == [(14, 16)]


def test_a_part_of_a_backup() -> None:
    found = backup(stored(10, 20), stored(30, 40))
    pieces, holes = found.within(5, 35)
    assert [(piece.object.key, piece.range.start, piece.range.end) for piece in pieces] == [
        ("1/10", 10, 20),
        ("1/30", 30, 35),
    ]
    assert spans(holes) == [(5, 10), (20, 30)]
    assert spans(found.within(38, 50)[1]) == [(40, 50)]
    assert found.within(12, 18)[1] == ()


Drawn = st.lists(
    st.tuples(st.integers(0, END - 1), st.integers(1, 12), st.integers(1, 3)).map(
        lambda drawn: stored(drawn[0], drawn[0] + drawn[1], drawn[2])
    ),
    min_size=1,
    max_size=8,
    unique_by=lambda one: one.key,
)
Noted = st.lists(
    st.tuples(st.integers(0, END - 1), st.integers(1, 8), st.booleans()).map(
        lambda drawn: Explained(Range(PARTITION, drawn[0], drawn[0] + drawn[1]), 1, is_lost=drawn[2])
    ),
    max_size=3,
)


@given(Drawn, Noted)
def test_each_offset_is_read_once_from_the_highest_generation_or_named(
    objects: list[BackupObject], notes: list[Explained]
) -> None:
    found = backup(*objects, explained=tuple(notes))
    by_offset = {offset: piece for piece in found.pieces for offset in range(piece.range.start, piece.range.end)}
    assert len(by_offset) == sum(piece.range.offsets for piece in found.pieces)
    assert [piece.range for piece in found.pieces] == sorted(piece.range for piece in found.pieces)
    holes = {offset for hole in found.holes for offset in range(hole.start, hole.end)}
    for offset in range(found.start, found.end):
        having = [one for one in objects if one.range.start <= offset < one.range.end]
        is_noted = any(note.range.start <= offset < note.range.end for note in notes)
        if having:
            assert by_offset[offset].object.generation == max(one.generation for one in having)
            assert by_offset[offset].object in having
        assert (offset in holes) == (not having and not is_noted)


def test_offsets_without_records_at_the_ends_are_no_holes() -> None:
    empty = (Explained(Range(PARTITION, 0, 10), 1, is_lost=False), Explained(Range(PARTITION, 20, 25), 1, is_lost=True))
    found = backup(stored(10, 20), explained=empty)
    pieces, holes = found.within(0, 30)
    assert [(piece.range.start, piece.range.end) for piece in pieces] == [(10, 20)]
    assert spans(holes) == [(20, 30)], "lost is not empty"


def test_a_partition_of_notes_alone_has_no_hole_where_they_meet() -> None:
    notes = [Explained(Range(PARTITION, a, b), 1, is_lost=False) for a, b in ((0, 10), (10, 15), (20, 25))]
    found = partition_backups([], notes)[PARTITION]
    assert (found.start, found.end, found.pieces, spans(found.holes)) == (0, 25, (), [(15, 20)])
    assert found.within(0, 15) == ((), ())
    assert spans(found.within(5, 30)[1]) == [(15, 20), (25, 30)]
