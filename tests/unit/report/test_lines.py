import structlog
from structlog.testing import capture_logs

from logpersister.report.lines import MOST_LINES, log_each


def facts(count: int) -> list[dict[str, object]]:
    return [
        {"topic": "clicks", "partition": number, "start": 5, "records": 2, "seconds": 0.5} for number in range(count)
    ]


def test_of_a_crowd_the_rest_is_summed_up() -> None:
    with capture_logs() as lines:
        log_each(structlog.get_logger(), "range.written", facts(MOST_LINES + 100))
    info = [line for line in lines if line["log_level"] == "info"]
    assert len(info) == MOST_LINES + 1
    assert info[-1] == {"event": "range.written.more", "log_level": "info", "lines": 100, "records": 200}
    assert len(lines) == MOST_LINES + 101, "the rest is there for those who ask for it"
