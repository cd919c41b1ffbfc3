"""Words of a replay's conditions. docs/replay.md says of each reason what it means and what to do."""

from enum import StrEnum


class ReplayAspect(StrEnum):
    """Types of conditions, in the order in which they are shown."""

    READY = "Ready"
    STALLED = "Stalled"
    RECONCILED = "Reconciled"
    PLANNED = "Planned"
    STORED = "Stored"
    SWITCHED = "Switched"
    OLD_DELETED = "OldDeleted"
    """Only of a replay that deletes old objects."""


class ReplayReason(StrEnum):
    """Every reason of a condition."""

    # nothing to do
    DONE = "Done"
    PROGRESSING = "Progressing"
    UP_TO_DATE = "UpToDate"
    # on the way
    PLANNING = "Planning"
    RUNNING = "Running"
    SUSPENDED = "Suspended"
    SWITCHING = "Switching"
    NOT_ASKED = "NotAsked"
    WAITS = "Waits"
    # somebody must act
    SPEC_INVALID = "SpecInvalid"
    RESOURCE_MISSING = "ResourceMissing"
    RESOURCE_UNFIT = "ResourceUnfit"
    BACKUP_MISSING = "BackupMissing"
    BACKUP_UNFIT = "BackupUnfit"
    GENERATION_TOO_LOW = "GenerationTooLow"
    GENERATION_TAKEN = "GenerationTaken"
    SECRET_MISSING = "SecretMissing"  # noqa: S105 - a word
    PLAN_UNREADABLE = "PlanUnreadable"
    CHILD_REFUSED = "ChildRefused"
    REPLAY_FAILED = "ReplayFailed"
    SWITCH_FAILED = "SwitchFailed"
    DELETION_FAILED = "DeletionFailed"
