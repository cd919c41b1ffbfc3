"""The laws of the simulated world. Mutants break one of them; so does nobody else."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Rules:
    """Each default is what Kafka, S3, Spark, or our thin adapters to them guarantee."""

    true_claims: bool = True
    """A member that joins claims what it owns (group/assignor.py), not what it was given last."""
    losses_are_told: bool = True
    """A member that is expelled while it joins hears of it (group/internals.py)."""
    revocation_waits_for_commits: bool = True
    """A revocation returns only when no commit is in flight (group/membership.py)."""
    upload_before_outcome: bool = True
    """A job says that a range is stored when it is."""
    names_without_clock: bool = True
    jobs_check_the_topic: bool = True
    """The reader compares the topic's id with the intent's."""
    puts_if_absent: bool = True
    """A range of which Kafka has lost a part never replaces an object."""
    losses_are_recorded: bool = True
    reads_are_fenced: bool = True
    """An answer counts only when the same broker knows our group generation afterwards (group/register.py)."""
    looks_ahead: bool = True
    """Before anything new is promised, the bucket is asked for objects behind the offset."""
    every_member_watches: bool = True
    """New partitions are noticed by every member, not by the leader only (group/membership.py)."""
    quarantine_is_allowed_for: bool = True
    """Where a parser may have refused records of a range, no object proves that all are there (state_store.py)."""
    replays_tell_of_ranges: bool = True
    """An object that a replay has made names the range whose records it has (storage/names.py)."""
