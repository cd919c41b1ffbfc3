"""``logpersister top``: asks real endpoints, shows a page in a terminal or a pipe, and says what did not answer."""

import io
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from logpersister.cli import main, top
from logpersister.cli.asked_status import ask, checked
from logpersister.cli.exits import CommandError, Exit, UnreachableError
from logpersister.cli.top import write
from logpersister.pages.reported import Report
from logpersister.pages.views import Cell, Page, Table
from logpersister.report.document import status_of
from logpersister.report.facts import Identity
from logpersister.report.health import Health
from logpersister.report.metrics import Metrics
from logpersister.report.plain import Document
from logpersister.report.server import Endpoints, ReportServer
from logpersister.report.status import MemberState, StatusBoard
from tests.stack.ports import free_port
from tests.unit.cli.test_collect import MANIFEST
from tests.unit.cli.test_lag import Offsets, look, offsets
from tests.unit.cli.test_run import written

__all__ = ["offsets"]
Capture = pytest.CaptureFixture[str]
Serve = Callable[..., str]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """``serve(document)`` serves a status, by default that of a running member of group backup; returns its address."""
    with ExitStack() as stack:

        def started(document: Callable[[], Document] | None = None) -> str:
            board = StatusBoard(Identity("backup", 1, "abcdef123456", "m-0", "1.0"))
            board.state(MemberState.RUNNING)
            server = ReportServer("127.0.0.1:0", Endpoints(Metrics(board), document or status_of(board), Health()))
            stack.enter_context(server)
            return f"http://{server.address}"

        yield started


def test_who_answers_and_who_does_not(serve: Serve) -> None:
    address = serve()
    assert ask(address, 5.0).get("member") == "m-0"
    nobody = f"http://127.0.0.1:{free_port()}"
    assert ask(nobody, 5.0) == Report(nobody, {}, "takes no connections (Connection refused)")
    assert ask(f"{address}/elsewhere", 5.0).problem == "answers something else"
    assert ask("http://name.invalid:1", 5.0).problem == "takes no connections (Name or service not known)"

    def broken() -> Document:
        raise RuntimeError

    assert ask(serve(broken), 5.0).problem == "answers something else"


@pytest.mark.parametrize("text", ["", "ftp://a", "http://", "http://[::1"])
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(CommandError, match="is no address; write for example http://localhost:8080"):
        checked(text)


def test_a_pipe_gets_the_page_of_a_group_once(
    serve: Serve, offsets: Offsets, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    address = serve()
    monkeypatch.setattr(top, "lag_of", lambda *_: look(offsets))
    manifest = written(tmp_path / "backup.yaml")
    assert main(["top", "-f", manifest, "--status", address]) == Exit.OK
    out = capsys.readouterr().out
    assert out.startswith("Group backup: 1 of 1 members running\n")
    assert "\nMEMBER  STATE" in out
    assert "Topic later does not exist yet." in out
    assert main(["top", "-f", manifest, "--status", f"{address},127.0.0.1:{free_port()}"]) == Exit.UNREACHABLE
    assert "Members and collectors answer where they were started with --http" in capsys.readouterr().out


def test_kafka_that_does_not_answer_is_a_note(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    address, manifest = serve(), written(tmp_path / "backup.yaml")

    def lag(code: Exit) -> Callable[..., Any]:
        def raising(*_: Any) -> Any:
            raise UnreachableError("no broker") if code is Exit.UNREACHABLE else CommandError("wrong key", code)

        return raising

    monkeypatch.setattr(top, "lag_of", lag(Exit.UNREACHABLE))
    assert main(["top", "-f", manifest, "--status", address]) == Exit.UNREACHABLE
    out = capsys.readouterr().out
    assert "The lag is not known: no broker" in out
    assert "m-0" in out
    monkeypatch.setattr(top, "lag_of", lag(Exit.INVALID))
    assert main(["top", "-f", manifest, "--status", address]) == Exit.INVALID


def test_a_collector(serve: Serve, tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "feeds.yaml"
    file.write_text(MANIFEST)
    status = {"collector": "prices", "replica": "prices-0", "kafka": {"away": None}, "polls": {"new": 3, "failed": 2}}
    assert main(["top", "-f", str(file), "--once", "--status", serve(lambda: status)]) == Exit.OK
    out = capsys.readouterr().out
    assert "Collector prices: 1 of 1 replicas write to Kafka" in out
    assert "prices-0  working" in out


PAGE = Page(
    "Group backup",
    Cell("running", "good"),
    facts=[("Failures", Cell("3", "warning"))],
    tables=[Table("Members", ("member", "lag"), [("m-\x1b[31m0", "1,000"), ("m-1", Cell("7", "bad"))], "Of now.")],
    notes=["A note."],
)


def test_a_page_as_text_has_nothing_that_a_terminal_obeys() -> None:
    out = io.StringIO()
    write(PAGE, out)
    assert out.getvalue() == (
        "Group backup: running\n  Failures  3\n\nMembers\n"
        "MEMBER         LAG\nm-\\x1b[31m0  1,000\nm-1              7\n\nA note.\n"
    )
