"""What members have stored in all, while members and operators come and go."""

from datetime import timedelta
from typing import Any

from logpersister_operator.observe.uploads import UploadTally
from logpersister_operator.observed_state import MemberReport, Stored
from tests.unit.kubernetes.samples import NOW, report

SILENT = MemberReport(None, "ConnectTimeout")
EARLIER, LATER = "2026-11-21T11:00:00.000Z", "2026-11-21T13:00:00.000Z"


def says(objects: int, *, failures: int = 0, started: str = LATER) -> MemberReport:
    counts = {"objects": objects, "bytes": objects * 10, "records": objects * 100, "last": None}
    counts |= {"dropped": objects * 5, "late": objects * 7}
    uploads = {**counts, "failures": failures, "failuresLastHour": failures}
    return report(startedAt=started, uploads=uploads, quarantine={"records": objects * 3, "last": None, "recent": []})


def objects(stored: Stored | None) -> int:
    assert stored is not None
    assert (stored.bytes, stored.records) == (stored.objects * 10, stored.objects * 100)
    others = (stored.quarantined, stored.dropped, stored.late)
    assert others == (stored.objects * 3, stored.objects * 5, stored.objects * 7)
    return stored.objects


def told(total: int) -> dict[str, Any]:
    uploads = {"objects": total, "bytes": total * 10, "records": total * 100, "failures": 0}
    uploads |= {"dropped": total * 5, "late": total * 7}
    return {"uploads": uploads, "quarantine": {"records": total * 3}}


def test_what_was_never_said_is_not_known() -> None:
    assert UploadTally().observe({"a": SILENT}, {}, NOW) is None


def test_members_that_end_restart_and_fall_silent_still_count() -> None:
    tally = UploadTally()
    assert objects(tally.observe({"a": says(5), "b": says(2)}, {}, NOW)) == 7
    assert objects(tally.observe({"a": SILENT, "b": says(3)}, {}, NOW)) == 8
    assert objects(tally.observe({"a": says(6), "b": says(1, started="2026-11-21T14:00:00.000Z")}, {}, NOW)) == 10
    assert objects(tally.observe({}, {}, NOW)) == 10
    assert objects(tally.observe({"a": says(1, started="2026-11-21T15:00:00.000Z")}, {}, NOW)) == 11


def test_a_new_operator_goes_on_from_the_status() -> None:
    """60 were stored by members that ended before, 40 by one that lives and has gone on meanwhile."""
    tally = UploadTally()
    assert objects(tally.observe({"a": SILENT}, told(100), NOW)) == 100
    assert objects(tally.observe({"a": says(45, started=EARLIER)}, told(100), NOW)) == 100
    assert objects(tally.observe({"a": says(46, started=EARLIER)}, told(100), NOW)) == 101
    assert objects(tally.observe({"a": says(0)}, told(101), NOW)) == 101


def test_failures_of_the_last_hour_outlive_their_member_by_an_hour() -> None:
    tally = UploadTally()

    def failures(reports: dict[str, MemberReport], minutes: int) -> tuple[int, int]:
        stored = tally.observe(reports, {}, NOW + timedelta(minutes=minutes))
        assert stored is not None
        return stored.failures, stored.failures_last_hour

    assert failures({"a": says(0, failures=3)}, 0) == (3, 3)
    assert failures({"a": says(0, failures=1, started="2026-11-21T14:00:00.000Z")}, 1) == (4, 4)
    assert failures({}, 2) == (4, 4)
    assert failures({}, 60) == (4, 1), "those of the first process were last heard of at minute 0"
    assert failures({}, 61) == (4, 0)
