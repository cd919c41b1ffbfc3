"""Compares the records of both sides of an overlap, by what their objects say. Pure.

Facts of an object are of the records as they were read, before its format: number, tombstones, checksum of the
payloads. So another format, compression or delimiter makes no difference here, nor does the size of objects.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from logpersister.member.shadow.alignment import ComparedObject, OverlappingRanges
from logpersister.plan.intents import same_topic
from logpersister.records.combination import PayloadSum, payload_sum

ByPath = Mapping[str, Sequence[ComparedObject]]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came out for one overlap."""

    difference: str | None
    """What is different; None when nothing is."""
    checksum_compared: bool
    """Whether the payloads were compared, too, and not only their number."""
    fewer: bool = False
    """Whether the shadow has fewer records, which has explanations that are no fault of it."""


def compare(overlap: OverlappingRanges, *, same_layout: bool, quarantines_late: bool = False) -> Verdict:
    """Compare the two sides of an overlap.

    Args:
        same_layout: whether both sides spread records over the same partition paths.
        quarantines_late: whether one of them puts late records into quarantine, whatever their folder is.
    """
    stable, shadow = _count(overlap.stable), _count(overlap.shadow)
    if stable != shadow:
        message = f"{_records(stable)} of the stable group, {_records(shadow)} of the shadow"
        return Verdict(message, checksum_compared=False, fewer=shadow < stable)
    ids = {one.facts.topic_id for one in (*overlap.stable, *overlap.shadow)} - {None}
    if not all(same_topic(one, other) for one in ids for other in ids):
        return Verdict("they are of different topics of the same name", checksum_compared=False)
    if quarantines_late and any(one.facts.horizon is not None for one in (*overlap.stable, *overlap.shadow)):
        return Verdict(None, checksum_compared=False)  # what is late for one side need not be for the other
    of_stable, of_shadow = _by_path(overlap.stable), _by_path(overlap.shadow)
    if same_layout:
        for path in sorted(of_stable.keys() | of_shadow.keys()):
            one, other = _count(of_stable.get(path, ())), _count(of_shadow.get(path, ()))
            if one != other:
                message = f"folder {path}: {_records(one)} of the stable group, {_records(other)} of the shadow"
                return Verdict(message, checksum_compared=False)
    return _compare_payloads(of_stable, of_shadow)


def _compare_payloads(stable: ByPath, shadow: ByPath) -> Verdict:
    """Compare checksums path by path, or as a whole where each side has one path only."""
    if stable.keys() == shadow.keys():
        pairs = [(stable[path], shadow[path]) for path in sorted(stable)]
    elif len(stable) == len(shadow) == 1:
        pairs = list(zip(stable.values(), shadow.values(), strict=True))
    else:
        return Verdict(None, checksum_compared=False)
    compared = True
    for one, other in pairs:
        mine, theirs = _sum(one), _sum(other)
        if mine is None or theirs is None:
            compared = False
        elif not mine.same_payloads(theirs):
            folder = f"folder {one[0].path}: " if one[0].path else ""
            return Verdict(f"{folder}the same number of records, but other keys or values", checksum_compared=True)
    return Verdict(None, checksum_compared=compared)


def _sum(objects: Sequence[ComparedObject]) -> PayloadSum | None:
    """Return what consecutive objects say together; None when that does not follow from what each says."""
    total: PayloadSum | None = None
    for index, one in enumerate(objects):
        facts = one.facts
        each = payload_sum(facts.checksum, facts.records, facts.payload)
        if each is None:
            return None
        total = each if index == 0 or total is None else total.followed_by(each)
        if total is None:
            return None
    return total


def _count(objects: Iterable[ComparedObject]) -> int:
    return sum(one.facts.records for one in objects)


def _records(count: int) -> str:
    return "1 record" if count == 1 else f"{count:,} records"


def _by_path(objects: Iterable[ComparedObject]) -> ByPath:
    found: defaultdict[str, list[ComparedObject]] = defaultdict(list)
    for one in objects:
        found[one.path].append(one)
    return found
