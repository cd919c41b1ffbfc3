"""Reasons of conditions: one word for programs. docs/status.md says of each what it means and what to do."""

from enum import StrEnum
from typing import Final


class Reason(StrEnum):
    """Every reason but those of failing uploads, which are the storage's kinds of errors: `upload_reason`."""

    # nothing to do
    MEMBERS_READY = "MembersReady"
    UP_TO_DATE = "UpToDate"
    VALID = "Valid"
    PROGRESSING = "Progressing"
    COMPLETE = "Complete"
    SUCCEEDING = "Succeeding"
    RECORDS_PARSE = "RecordsParse"
    DUTIES_SUCCEED = "DutiesSucceed"
    WITHIN_TARGET = "WithinTarget"
    FEW_REBALANCES = "FewRebalances"
    OWN_GROUP = "OwnGroup"
    MEMBERS_PROGRESS = "MembersProgress"
    ACTIVE = "Active"
    REPLICAS_READY = "ReplicasReady"
    FEEDS_SPEAK = "FeedsSpeak"
    KAFKA_TAKES_RECORDS = "KafkaTakesRecords"
    # on the way
    REPLICAS_NOT_READY = "ReplicasNotReady"
    STARTING_REPLICAS = "StartingReplicas"
    MEMBERS_NOT_READY = "MembersNotReady"
    STARTING_MEMBERS = "StartingMembers"
    REMOVING_OLD_REVISION = "RemovingOldRevision"
    COMPARING_SHADOW = "ComparingShadow"
    TRYING_CANARY = "TryingCanary"
    ROLLING_OUT = "RollingOut"
    WAITING_FOR_PROMOTION = "WaitingForPromotion"
    WAITING_FOR_TURN = "WaitingForTurn"
    RECREATING = "Recreating"
    ROLLING_BACK = "RollingBack"
    PAUSED = "Paused"
    PAUSING = "Pausing"
    RECONCILIATION_PAUSED = "ReconciliationPaused"
    # somebody must act
    SPEC_INVALID = "SpecInvalid"
    SECRET_MISSING = "SecretMissing"  # noqa: S105 - a word
    REFUSED = "Refused"
    NAME_TAKEN = "NameTaken"
    GROUP_SHARED = "GroupShared"
    FOREIGN_MEMBERS = "ForeignMembers"
    ROLLOUT_FAILED = "RolloutFailed"
    STALLED = "Stalled"
    RECONCILIATION_FAILED = "ReconciliationFailed"
    IMAGE_UNAVAILABLE = "ImageUnavailable"
    MEMBER_CRASHING = "MemberCrashing"
    POD_NOT_STARTABLE = "PodNotStartable"
    UNSCHEDULABLE = "Unschedulable"
    NODE_LOST = "NodeLost"
    # about the flow of records
    NO_MEMBER_ANSWERS = "NoMemberAnswers"
    NOTHING_LOST = "NothingLost"
    RECORDS_LOST = "RecordsLost"
    RECORDS_QUARANTINED = "RecordsQuarantined"
    DUTY_FAILING = "DutyFailing"
    LAG_UNKNOWN = "LagUnknown"
    BEHIND = "Behind"
    PARTITION_STUCK = "PartitionStuck"
    PARTITION_UNREADABLE = "PartitionUnreadable"
    TOPICS_MISSING = "TopicsMissing"
    # about feeds
    NO_REPLICA_ANSWERS = "NoReplicaAnswers"
    FEEDS_SILENT = "FeedsSilent"
    KAFKA_AWAY = "KafkaAway"
    # about the number of members
    ENOUGH_MEMBERS = "EnoughMembers"
    SCALED_UP = "ScaledUp"
    SCALED_DOWN = "ScaledDown"
    LIMIT_REACHED = "LimitReached"
    NOTHING_STORED = "NothingStored"
    # about the group
    MEMBER_RESTARTING = "MemberRestarting"
    MEMBER_SILENT = "MemberSilent"
    MANY_REBALANCES = "ManyRebalances"
    # about members that hang
    MEMBER_HANGS = "MemberHangs"
    MEMBERS_HANG_ALIKE = "MembersHangAlike"
    RESTARTS_USED_UP = "RestartsUsedUp"


ON_THE_WAY: Final = frozenset(
    {
        Reason.STARTING_MEMBERS,
        Reason.STARTING_REPLICAS,
        Reason.REMOVING_OLD_REVISION,
        Reason.COMPARING_SHADOW,
        Reason.TRYING_CANARY,
        Reason.ROLLING_OUT,
        Reason.WAITING_FOR_PROMOTION,
        Reason.RECREATING,
        Reason.ROLLING_BACK,
    }
)
"""Reasons of what is wanted and goes on: no cause for a warning."""
UNKNOWN_KIND: Final = "Other"


def upload_reason(kind: str) -> str:
    """``missing-bucket`` as the reason of a condition: ``MissingBucket``."""
    return "".join(part.capitalize() for part in kind.split("-")) or UNKNOWN_KIND
