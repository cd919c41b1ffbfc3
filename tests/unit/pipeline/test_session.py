"""What Spark's JVM and the Python workers print, as log events of the member."""

import io

import pytest
import structlog

from logpersister.pipeline.session import relay_output


def relayed(text: str) -> list[dict[str, object]]:
    with structlog.testing.capture_logs() as events:
        relay_output(io.StringIO(text))
    return [dict(event) for event in events]


def test_events_of_workers_keep_level_and_fields() -> None:
    line = '{"timestamp": "2026-11-21T00:00:00Z", "level": "warning", "event": "upload.abort_failed", "key": "a"}\n'
    assert relayed(line) == [{"event": "upload.abort_failed", "log_level": "warning", "key": "a"}]


@pytest.mark.parametrize("line", ["{not json", '{"no": "event"}', "[1]", "WARNING: Using incubator modules"])
def test_other_lines_are_details(line: str) -> None:
    assert relayed(f"{line}\n\n") == [{"event": "spark.printed", "log_level": "debug", "line": line}]


def test_errors_of_spark_are_warnings() -> None:
    line = "12:00:00 ERROR TaskSchedulerImpl: Lost executor driver"
    assert relayed(f"{line}\n") == [{"event": "spark.error", "log_level": "warning", "line": line}]
