"""Whether more of the candidate's records go into quarantine than may: a broken parser stores without a failure.

What producers send amiss, the stable revision refuses too; so its share counts as nobody's fault. A verdict needs
evidence: the ranges that are needed to pass, too, and more than one record. So a parser that refuses everything fails
as soon as those ranges are in, and a single odd record on a quiet topic withdraws nothing. While no old member is ready
and answers there is nothing to compare with, nor anything better to go back to. Members have different partitions, and
bad records mostly are in few of them: so revisions that refuse the same records are not compared at all.
"""

from dataclasses import dataclass, replace
from typing import Final, Self

from logpersister.manifest.blocks.rollout import AnalysisSpec, ShadowSpec
from logpersister.report.human import number, plural
from logpersister_operator.rollout.evidence import Evidence, ReportedCounters, Tally, gained
from logpersister_operator.rollout.inputs import RolloutInputs
from logpersister_operator.rollout.record import RolloutRecord, Trial

_FEWEST: Final = 2
"""Records in quarantine that say something about a revision, unless not a single one is allowed."""


@dataclass(frozen=True, slots=True)
class Share:
    """Records that were stored, and those of them that went into quarantine."""

    quarantined: int
    records: int

    @classmethod
    def of(cls, *counts: Tally | ReportedCounters) -> Self:
        return cls(sum(one.quarantined for one in counts), sum(one.records for one in counts))

    def __str__(self) -> str:
        percent = 100 * self.quarantined / self.records if self.records else 0.0
        return f"{number(self.quarantined)} of {plural(self.records, 'record')} ({percent:.1f}%)"

    def exceeds(self, other: "Share", percent: int) -> bool:
        """Whether it is larger than another one by more than some percent of all records; none of 0 is 0%."""
        mine, theirs = max(self.records, 1), max(other.records, 1)
        return 100 * (self.quarantined * theirs - other.quarantined * mine) > percent * mine * theirs


def heard(record: RolloutRecord, mine: Evidence, inputs: RolloutInputs) -> RolloutRecord:
    """Take in the reports of both revisions; ``mine`` is the evidence of the candidate or of its shadow."""
    theirs = inputs.evidence_of(record.stable)
    return replace(
        record,
        candidate_stored=record.candidate_stored.after(mine.stored, record.began),
        stable_stored=record.stable_stored.after(theirs.stored, record.began),
    )


def excess(
    record: RolloutRecord, mine: Evidence, inputs: RolloutInputs, tried: AnalysisSpec | ShadowSpec, whose: str = "it"
) -> str:
    """Return, in words, that too many records went into quarantine since the rollout began; empty when not.

    Args:
        mine: what the candidate's members say now, or those of its shadow.
        tried: how long the trial takes, and how many ranges it needs.
    """
    trial, most = record.trial, inputs.analysis.max_quarantine_ratio
    if trial is None or inputs.refuse_alike or not _has_peers(record, inputs):
        return ""
    if not _is_evident(trial, mine, inputs, tried):
        return ""
    ours, usual = Share.of(record.candidate_stored), _usual(record, inputs)
    if not ours.exceeds(usual, most) or (most > 0 and ours.quarantined < _FEWEST):
        return ""
    example = f"; for example {mine.example}" if mine.example else ""
    return f"{ours} that {whose} stored went into quarantine, and {usual} of the old revision{example}"


def _is_evident(trial: Trial, mine: Evidence, inputs: RolloutInputs, tried: AnalysisSpec | ShadowSpec) -> bool:
    """Whether as much was seen as is needed to pass: quiet topics pass by time."""
    return gained(mine.ranges, trial.ranges) >= tried.min_ranges or inputs.now - trial.since >= tried.duration


def _has_peers(record: RolloutRecord, inputs: RolloutInputs) -> bool:
    return inputs.fleet(record.stable).ready > 0 and inputs.evidence_of(record.stable).answers > 0


def _usual(record: RolloutRecord, inputs: RolloutInputs) -> Share:
    """Return the share of the stable revision in the same time, or in all its time when it stored nothing since."""
    if record.stable_stored.records:
        return Share.of(record.stable_stored)
    return Share.of(*inputs.evidence_of(record.stable).stored)
