import io
import json
import logging
import warnings
from datetime import timedelta

import pytest
import structlog

from logpersister.manifest.secrets import HIDDEN
from logpersister.report import logs
from logpersister.report.logs import RepetitionLimit
from tests.unit.report.samples import Clock

pytestmark = pytest.mark.usefixtures("logging_as_before")


@pytest.fixture
def out() -> io.StringIO:
    return io.StringIO()


def lines(out: io.StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in out.getvalue().splitlines()]


def test_elsewhere_than_on_a_terminal_a_line_is_json(out: io.StringIO) -> None:
    logs.configure("auto", "info", out, context={"group": "clicks-backup"})
    structlog.get_logger("any").info("range.written", topic="clicks", partition=3)

    (line,) = lines(out)
    assert list(line)[:3] == ["timestamp", "level", "event"]
    assert line | {"timestamp": ""} == {
        "timestamp": "",
        "level": "info",
        "event": "range.written",
        "topic": "clicks",
        "partition": 3,
        "group": "clicks-backup",
    }


def test_logfmt(out: io.StringIO) -> None:
    logs.configure("logfmt", "info", out)
    structlog.get_logger("any").info("range.written", topic="a b", pending=None, last=True)
    assert 'level=info event=range.written topic="a b"' in out.getvalue()
    assert "last=true" in out.getvalue()


def test_libraries_come_in_at_warning_as_one_event(out: io.StringIO) -> None:
    logs.configure("json", "info", out)
    logging.getLogger("kafka.conn").info("quiet")
    logging.getLogger("kafka.conn").warning("Broker %s is gone", 3)
    logging.getLogger("urllib3.connectionpool").warning("retrying")
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.warn("careful", stacklevel=1)

    first, second = lines(out)
    assert (first["event"], first["library"], first["message"]) == ("library.message", "kafka.conn", "Broker 3 is gone")
    assert (second["library"], "careful" in str(second["message"])) == ("py.warnings", True)


def test_repeated_lines_of_libraries_are_limited(out: io.StringIO) -> None:
    logs.configure("json", "info", out)
    for number in range(100):
        logging.getLogger("kafka").warning("Broker %s is gone", number)
    logging.getLogger("kafka").warning("something else")
    assert len(lines(out)) == 5 + 1


def test_a_rebalance_that_waits_for_work_is_no_complaint(out: io.StringIO) -> None:
    logs.configure("json", "info", out)
    complaints: list[str] = []
    with logs.kafka_complaints.taken_by(complaints.append):
        coordinator = logging.getLogger("kafka.coordinator.consumer")
        coordinator.warning("Rebalance listener %s.%s for group %s took %.3fs.", "_Listener", "revoked", "g", 1.761)
        coordinator.warning("Heartbeat failed")
    assert complaints == ["Heartbeat failed"]
    assert lines(out) == []


def test_what_was_held_back_is_said_later() -> None:
    clock = Clock()
    limit = RepetitionLimit(burst=2, window=timedelta(minutes=1), clock=clock.seconds)

    def record() -> logging.LogRecord:
        return logging.LogRecord("kafka", logging.WARNING, "", 0, "Broker %s is gone", (1,), None)

    assert [limit.filter(record()) for _ in range(5)] == [True, True, False, False, False]
    clock.forward(61)
    late = record()
    assert limit.filter(late)
    assert late.__dict__["suppressed"] == 3


def test_the_memory_of_repetitions_is_bounded() -> None:
    limit = RepetitionLimit(burst=1)
    for number in range(RepetitionLimit.MAX_TEMPLATES * 2):
        limit.filter(logging.LogRecord("kafka", logging.WARNING, "", 0, f"template {number}", (), None))
    assert len(limit._seen) == RepetitionLimit.MAX_TEMPLATES


def test_secrets_do_not_leave(out: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    redactor = type(logs.redactor)()
    monkeypatch.setattr(logs, "redactor", redactor)
    redactor.hide("correct horse battery")
    logs.configure("json", "info", out)
    log = structlog.get_logger("any")
    log.info("a", text="it is correct horse battery!", nested={"deep": ["correct horse battery"]})
    log.info("b", sasl_plain_password="short")
    try:
        int("login with correct horse battery failed")
    except ValueError:
        log.exception("c")
    logging.getLogger("kafka").warning("cannot use %s", "correct horse battery")

    assert "correct horse battery" not in out.getvalue()
    assert "short" not in out.getvalue()
    assert out.getvalue().count(HIDDEN) >= 5
