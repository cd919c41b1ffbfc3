"""The failed upload that is told, in the status and in the condition."""

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from logpersister_operator.crd.status_records import UploadFailure
from logpersister_operator.decide.reported import Report
from logpersister_operator.field_types import shortened
from logpersister_operator.rollout.analysis import RECENT

_OF_A_DOCUMENT: Final = "a document below _logpersister/"


def told(failures: Iterable[UploadFailure]) -> UploadFailure | None:
    """Return the newest failure, but one of a range before newer ones of documents, if it is about as new.

    A bucket that refuses everything fails documents as well as ranges: the topic must not come and go in what is told.
    """
    newest_first = sorted(failures, key=lambda failure: failure.time, reverse=True)
    recent = [failure for failure in newest_first if newest_first[0].time - failure.time <= RECENT]
    return next((failure for failure in recent if failure.topic is not None), next(iter(recent), None))


def remembered(reports: Iterable[Report]) -> list[UploadFailure]:
    """Return the failures of uploads that members remember."""
    return [_failure(error) for one in reports for error in one["errors"]["recent"] if error["upload"]]


def present(reports: Iterable[Report], now: datetime) -> UploadFailure | None:
    """Return a failure that is so new that the next attempt may not have come yet."""
    return told(failure for failure in remembered(reports) if now - failure.time <= RECENT)


def place(failure: UploadFailure) -> str:
    """Return in words what could not be uploaded."""
    if failure.topic is None:
        return _OF_A_DOCUMENT
    return f"{failure.topic} partition {failure.partition} offsets {failure.start} to {failure.end}"


def _failure(error: Report) -> UploadFailure:
    return UploadFailure(
        reason=error["kind"],
        message=shortened(error["message"]),
        topic=error["topic"],
        partition=error["partition"],
        start=error["start"],
        end=error["end"],
        time=datetime.fromisoformat(error["time"]),
    )
