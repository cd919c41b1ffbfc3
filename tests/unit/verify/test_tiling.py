"""Every kind of finding that needs no reading of records."""

from dataclasses import replace
from typing import Any

import pytest

from logpersister.plan.intents import CommittedOffset
from logpersister.verify.evidence import KafkaView, PartitionEvidence, ReplayedSpan, StoredObject
from logpersister.verify.findings import Kind
from logpersister.verify.tiling import MissingOffsets, examine
from tests.unit.verify.samples import committed, damaged, deletion, evidence, loss, pending, stored_object

TILED = [stored_object(0, 100), stored_object(100, 250), stored_object(250, 300)]


def found(seen: PartitionEvidence) -> list[tuple[Kind, int, int]]:
    return [(finding.kind, finding.start, finding.end) for finding in examine(seen).findings]


def missing(seen: PartitionEvidence) -> list[tuple[int, int]]:
    return [missing.span for missing in examine(seen).missing]


def replace_facts(one: StoredObject, **changed: Any) -> StoredObject:
    assert one.facts is not None
    return replace(one, facts=replace(one.facts, **changed))


AGAIN: dict[str, Any] = {"generation": 2}
"""Of a group that has begun anew."""
HIGHER = committed(300, generation=2)
FROM_EARLIEST = evidence(TILED[1:], committed(300), from_earliest=True)
HOLE = evidence([TILED[0], TILED[2]], committed(300))
LOSSES = replace(HOLE, losses=[loss(100, 250, "skipped")])
TOPIC_AGAIN = [stored_object(0, 700, topic_id="old"), stored_object(0, 100, generation=2)]
REPLAYED = ReplayedSpan(2, 0, 100, done=True)
BEHIND = [
    stored_object(0, 250),
    *(stored_object(start, end, generation=2) for start, end in ((0, 50), (50, 100), (250, 300))),
]
ONE_OF_TWO = stored_object(100, 250, path="dt=2026-11-20", first=101, last=200, records=50)
AGAIN_WITHOUT_ONE = [stored_object(start, end, generation=2) for start, end in ((0, 150), (200, 300))]
NOBODYS = replace(damaged(stored_object(100, 250), end=None), group=None)
ONE = stored_object(0, 100, path="dt=2026-11-20", first=0, last=98, records=50)
OTHER = stored_object(0, 100, path="dt=2026-11-21", first=1, last=99, records=50)
LATE = stored_object(0, 100, path="_late/dt=2026-11-20", first=1, last=99, records=50, horizon=7)
BAD = stored_object(0, 100, path="_quarantine", first=2, last=97, records=20, parser="json")
REST = stored_object(0, 100, first=0, last=99, records=80, parser="json")
SOME, OTHERS = (replace_facts(each, records=40, parser="json") for each in (ONE, OTHER))
BEYOND = [(Kind.BEYOND_COMMIT, 100, 250), (Kind.BEYOND_COMMIT, 250, 300)]
WRONG, OVERLAP = [(Kind.WRONG_FACTS, 0, 100)], [(Kind.OVERLAP, 0, 100)]

Case = tuple[PartitionEvidence, list[tuple[Kind, int, int]], list[tuple[int, int]]]
CASES: dict[str, Case] = {
    "objects that tile": (evidence(TILED, committed(300)), [], []),
    "nothing is begun": (evidence([], None), [(Kind.NOT_BEGUN, 0, 1_000)], []),
    "a partition without objects": (evidence([], committed(300)), [], []),
    "a hole inside": (HOLE, [], [(100, 250)]),
    "a hole at the end": (evidence(TILED[:2], committed(300)), [], [(250, 300)]),
    "the first stored offset is where the promise begins": (evidence(TILED[1:], committed(300)), [], []),
    "no committed offset": (replace(HOLE, before=None, after=None), [(Kind.UNCOMMITTED, 0, 300)], [(100, 250)]),
    # A group that begins with the earliest has what Kafka has.
    "nothing from the earliest": (evidence([], committed(300), from_earliest=True), [], [(0, 300)]),
    "from an earliest that is later": (replace(FROM_EARLIEST, kafka=KafkaView("topic-id", 90, 1_000)), [], [(90, 100)]),
    "from behind the first": (replace(FROM_EARLIEST, kafka=KafkaView("topic-id", 200, 1_000)), [], []),
    # Losses explain holes, but those of an earlier topic.
    "a loss": (LOSSES, [(Kind.SKIPPED, 100, 250)], []),
    "a loss of a part": (replace(LOSSES, losses=[loss(100, 200)]), [(Kind.LOST, 100, 200)], [(200, 250)]),
    "a loss of an earlier topic": (replace(HOLE, losses=[loss(100, 250, topic_id="another")]), [], [(100, 250)]),
    # Deletions explain holes, too: of their generation, and of a lower one that it may have replaced.
    "a deletion": (replace(HOLE, deletions=[deletion((100, 250))]), [(Kind.DELETED, 100, 250)], []),
    "a deletion of a part": (
        replace(HOLE, deletions=[deletion((100, 200))]), [(Kind.DELETED, 100, 200)], [(200, 250)],
    ),
    "a deletion at the beginning": (
        replace(FROM_EARLIEST, deletions=[deletion((0, 100))]), [(Kind.DELETED, 0, 100)], [],
    ),
    "a deletion of an earlier topic": (
        replace(HOLE, deletions=[deletion((100, 250), topic_id="another")]), [], [(100, 250)],
    ),
    "a deletion that is not finished": (
        replace(HOLE, objects=[TILED[0], ONE_OF_TWO, TILED[2]], deletions=[deletion((100, 250))]),
        [(Kind.DELETED, 100, 250), (Kind.DELETED, 100, 250)], [],
    ),
    "a damaged object of a deletion": (
        replace(
            HOLE, objects=[TILED[0], damaged(TILED[1], end=250), TILED[2]], deletions=[deletion((100, 250))]
        ), [(Kind.DELETED, 100, 250), (Kind.DELETED, 100, 250)], [],
    ),
    "what was deleted is missing where it was stored again": (
        evidence(
            [TILED[0], TILED[2], *AGAIN_WITHOUT_ONE], HIGHER, deletions=[deletion((100, 250))], **AGAIN
        ), [(Kind.DELETED, 100, 250)], [(150, 200)],
    ),
    "a deletion in a replay that had replaced the others": (
        evidence(
            [TILED[0], TILED[2]], HIGHER, deletions=[deletion((100, 250), generation=2)], **AGAIN
        ), [(Kind.DELETED, 100, 250)], [],
    ),
    # Paths of one range
    "two extensions": (evidence([*TILED, stored_object(0, 100, extension=".txt.gz")], committed(300)), OVERLAP, []),
    "two paths that fit": (evidence([ONE, OTHER], committed(100)), [], []),
    **{
        f"quarantine fits {number}": (evidence(objects, committed(100)), [], [])
        for number, objects in enumerate([[BAD, REST], [BAD, SOME, OTHERS], [BAD], [REST]])
    },
    "more records than offsets": (evidence([ONE, replace_facts(OTHER, records=51)], committed(100)), WRONG, []),
    "an offset in both": (evidence([ONE, replace_facts(OTHER, last=98)], committed(100)), WRONG, []),
    "different revisions": (evidence([ONE, replace_facts(OTHER, revision="fedcba654321")], committed(100)), WRONG, []),
    "one horizon": (evidence([replace_facts(ONE, horizon=7), LATE], committed(100)), [], []),
    "different ends": (
        evidence([ONE, stored_object(0, 90, path="dt=2026-11-21", first=1, last=89, records=2)], committed(100)),
        [(Kind.OVERLAP, 0, 90)], [],
    ),
    # Beyond the committed offset
    "promised": (evidence(TILED, pending(100, 250, 300)), [], []),
    "promised otherwise": (evidence(TILED, pending(100, 200, 300)), BEYOND, []),
    "not promised": (evidence(TILED, committed(100)), BEYOND, []),
    "across the committed offset": (evidence(TILED, committed(200)), BEYOND, []),
    "committed during the listing": (evidence(TILED, committed(100), committed(300)), [], []),
    "promised during the listing": (evidence(TILED, committed(100), pending(100, 250, 300)), [], []),
    "a replay leaves the lower generation behind it": (
        evidence([*TILED, stored_object(0, 100, generation=2)], committed(100, generation=2), **AGAIN), [], [],
    ),
    "a replay that has not begun": (evidence(TILED, CommittedOffset(0, None), **AGAIN), [], []),
    # Generations
    "a higher one goes on": (evidence([TILED[0], stored_object(100, 300, generation=2)], HIGHER, **AGAIN), [], []),
    "a replay fills the hole of a lower one": (
        evidence([TILED[0], TILED[2], stored_object(0, 300, generation=2)], HIGHER, **AGAIN), [], [],
    ),
    "members go on in the generation of a replay": (evidence(BEHIND, HIGHER, history=[REPLAYED], **AGAIN), [], []),
    "a hole in a replay": (
        evidence([*BEHIND[:2], BEHIND[3]], HIGHER, history=[replace(REPLAYED, end=200)], **AGAIN), [], [(50, 200)],
    ),
    "a replay that is under way": (
        evidence(BEHIND, HIGHER, history=[replace(REPLAYED, end=90, done=False)], **AGAIN), [], [],
    ),
    # Strangers
    "another group": (
        evidence([TILED[0], stored_object(100, 250, group="another"), TILED[2]], committed(300)),
        [(Kind.FOREIGN, 100, 250)], [(100, 250)],
    ),
    "no group": (evidence([TILED[0], NOBODYS], committed(100)), [(Kind.FOREIGN, 100, 101)], []),
    "an earlier topic": (
        evidence(TOPIC_AGAIN, committed(100, generation=2), **AGAIN), [(Kind.OTHER_TOPIC, 0, 700)], [],
    ),
    # Facts
    **{
        str(facts): (evidence([stored_object(0, 100, **facts), *TILED[1:]], committed(300)), WRONG, [])
        for facts in ({"records": 0}, {"records": 101}, {"records": 1}, {"tombstones": 101}, {"checksum": "md5:0"})
    },
    "no facts document": (
        evidence([TILED[0], damaged(TILED[1], end=250), TILED[2]], committed(300)), [(Kind.DAMAGED, 100, 250)], [],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_what_is_found_and_what_is_missing(case: Case) -> None:
    seen, findings, holes = case
    assert (found(seen), missing(seen)) == (findings, holes)


COPY = replace(TILED[0], key="copy", name=replace(TILED[0].name, start=300))


@pytest.mark.parametrize(
    ("seen", "kind", "key", "told"),
    [
        (
            evidence([*TILED, stored_object(50, 120)], committed(300)),
            *(Kind.OVERLAP, stored_object(50, 120).key, TILED[0].key),
        ),
        (evidence([stored_object(0, 100, path="_quarantine")], committed(100)), Kind.WRONG_FACTS, None, "no parser"),
        (evidence([ONE, LATE], committed(100)), Kind.WRONG_FACTS, None, "different horizons"),
        (evidence([stored_object(0, 100, path=LATE.name.path)], committed(100)), Kind.WRONG_FACTS, None, "no horizon"),
        (evidence([*TILED, COPY], committed(300)), Kind.MISNAMED, "copy", "clicks-0[0,100)"),
        (evidence(TILED, CommittedOffset(100, None)), Kind.BEYOND_COMMIT, None, "somebody has set the group's offset"),
    ],
    ids=[
        "overlap",
        "quarantine without a parser",
        "horizons",
        "late without a horizon",
        "a copy",
        "an offset set back",
    ],
)
def test_what_is_told(seen: PartitionEvidence, kind: Kind, key: str | None, told: str) -> None:
    findings = examine(seen).findings
    assert {one.kind for one in findings} == {kind}
    assert told in findings[0].message
    assert key in (None, findings[0].key)


def test_what_is_stored_with_and_without_a_path_overlaps() -> None:
    with_path = stored_object(0, 100, path="dt=2026-11-21", first=1, last=1, records=1)
    for objects in ([*TILED, with_path], [BAD, REST, SOME]):
        assert (Kind.OVERLAP, 0, 100) in found(evidence(objects, committed(300)))


def test_which_generation_lacks_records_and_whether_they_are_before_all() -> None:
    replay = [stored_object(0, 100, generation=2), stored_object(250, 300, generation=2)]
    for seen, expected in (
        (FROM_EARLIEST, MissingOffsets((0, 100), 1, before_first=True)),
        (evidence([TILED[0], stored_object(150, 300, generation=2)], HIGHER, **AGAIN), MissingOffsets((100, 150), 2)),
        (evidence([*TILED, *replay], HIGHER, **AGAIN), MissingOffsets((100, 250), 2)),
    ):
        assert examine(seen).missing == [expected]
    gone = evidence(TILED, None, from_earliest=True, kafka=None)
    assert found(gone) or missing(gone)


def test_a_finding_is_one_line_that_says_all() -> None:
    (finding,) = examine(evidence([*TILED, stored_object(280, 300)], committed(300))).findings
    assert str(finding) == (
        "overlap: clicks-0 [280,300): the offsets are also in raw/clicks/1_0_00000000000000000250.txt, "
        "of the same generation: raw/clicks/1_0_00000000000000000280.txt"
    )
