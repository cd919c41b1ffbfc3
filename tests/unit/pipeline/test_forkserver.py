"""The fork server, in processes of its own: who is handed over goes on as its fork, and nothing outlives the member."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest

from logpersister.pipeline import handover

MEMBER = """
import os, sys, threading
from logpersister.pipeline import forkserver

def daemon():
    print(os.environ["TOLD"], *sys.argv[1:], flush=True)
    for line in sys.stdin:
        print("heard", line.strip(), flush=True)

if "threads" in sys.argv:
    threading.Thread(target=sys.stdin.read, daemon=True).start()
forkserver.start(daemon)
print(os.environ.get("LOGPERSISTER_FORK_SERVER", ""), flush=True)
sys.stdin.read()
"""
STARTED = """
import sys
from logpersister.pipeline.handover import hand_over
if not hand_over(sys.argv[1:]):
    print("alone", flush=True)
"""

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start() -> Iterator[Start]:
    with ExitStack() as stack:

        def run(program: str, *arguments: str, **environment: str) -> "subprocess.Popen[str]":
            process = subprocess.Popen(
                [sys.executable, "-c", program, *arguments],
                env={**os.environ, **environment},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                start_new_session=True,
            )
            stack.enter_context(process)
            stack.callback(process.kill)
            return process

        yield run


def said(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def tell(process: "subprocess.Popen[str]", line: str) -> None:
    assert process.stdin is not None
    process.stdin.write(f"{line}\n")
    process.stdin.flush()


@pytest.fixture
def member(start: Start) -> "subprocess.Popen[str]":
    return start(MEMBER)


@pytest.fixture
def address(member: "subprocess.Popen[str]") -> str:
    return said(member)


def wait_gone(processes: list[psutil.Process]) -> None:
    _, alive = psutil.wait_procs(processes, timeout=30)
    assert not alive


def test_a_fork_goes_on_with_streams_arguments_and_environment(start: Start, address: str) -> None:
    for word in ("one", "two"):
        started = start(STARTED, "pyspark.worker", word, LOGPERSISTER_FORK_SERVER=address, TOLD=f"env-{word}")
        assert said(started) == f"env-{word} pyspark.worker {word}"
        tell(started, "hello")
        assert said(started) == "heard hello"
        assert started.poll() is None
        assert started.stdin is not None
        started.stdin.close()
        assert started.wait(30) == 0


def test_garbage_does_not_end_the_server(start: Start, address: str) -> None:
    for sent in (b"", b"\0", b"\0not json", b'\0{"arguments": []}'):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(address)
            if sent:
                socket.send_fds(connection, [sent], [0, 1, 2][: len(sent) % 4])
    started = start(STARTED, LOGPERSISTER_FORK_SERVER=address, TOLD="still here")
    assert said(started) == "still here"


@pytest.mark.slow
def test_nothing_outlives_a_killed_member(member: "subprocess.Popen[str]", start: Start, address: str) -> None:
    server = psutil.Process(member.pid).children()
    started = start(STARTED, LOGPERSISTER_FORK_SERVER=address, TOLD="here")
    assert said(started) == "here"
    # Only now has it certainly run: the member tells the address as soon as it has forked it.
    assert [process.name() for process in server] == ["fork-server"]
    daemons = server[0].children()
    assert [process.name() for process in daemons] == ["spark-worker"]
    for number in (signal.SIGINT, signal.SIGTERM):
        server[0].send_signal(number)
    member.kill()
    wait_gone(server)
    assert not Path(address).parent.exists()
    assert started.stdin is not None
    started.stdin.close()  # as Spark's JVM does, which ends with the member
    wait_gone(daemons)
    started.wait(30)


def test_a_server_that_was_killed_is_done_without(member: "subprocess.Popen[str]", start: Start, address: str) -> None:
    (server,) = psutil.Process(member.pid).children()
    server.kill()
    member.kill()
    member.wait()
    started = start(STARTED, LOGPERSISTER_FORK_SERVER=address, TOLD="here")
    assert said(started) == "alone"


def test_a_process_with_threads_is_not_forked(start: Start) -> None:
    assert not said(start(MEMBER, "threads"))


def test_a_server_that_does_not_answer_is_done_without(monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{folder}/daemons")
        listener.listen()
        monkeypatch.setenv(handover.ADDRESS, f"{folder}/daemons")
        monkeypatch.setattr(handover, "ANSWER_SECONDS", 0.1)
        began = time.monotonic()
        assert not handover.hand_over([])
        assert time.monotonic() - began < 30
