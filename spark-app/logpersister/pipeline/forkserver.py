"""A process forked from the member before it has threads or connections, from which Spark's Python daemon is forked.

Spark starts its daemon as a new interpreter, which would import again all that the member has imported: a fifth of
what a member's start costs. The interpreter hands its standard streams and environment over to the fork server, whose
fork is the daemon, and stays as the process that Spark knows. Where there is no fork server, or none that answers, the
interpreter is the daemon itself: in executors, and whenever something went wrong.

All of them end with the member: the fork server when the member's end of a pipe is closed, the daemon when Spark's JVM
closes its input.
"""

import contextlib
import gc
import os
import selectors
import shutil
import signal
import socket
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import mkdtemp

from logpersister.pipeline.handover import ADDRESS, Handover, receive

Daemon = Callable[[], None]


def start(daemon: Daemon) -> None:
    """Fork the fork server, whose address is in this process's environment from now on.

    Args:
        daemon: what a process forked from it does: it does not return before its input ends.
    """
    if threading.active_count() > 1:
        return  # a fork would copy locks that nobody gives back
    folder = Path(mkdtemp(prefix="logpersister-"))
    address = str(folder / "daemons")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen()
    alive, ours = os.pipe()
    gc.collect()
    gc.freeze()  # a collection in a worker would touch, and so copy, what it shares
    if os.fork() == 0:
        os.close(ours)
        _end(partial(_serve, listener, alive, folder, daemon))
    listener.close()
    os.close(alive)
    os.environ[ADDRESS] = address


def _serve(listener: socket.socket, alive: int, folder: Path, daemon: Daemon) -> None:
    """Fork a daemon for each connection until the member has ended."""
    _call_it("fork-server")
    for ignored in (signal.SIGINT, signal.SIGTERM):  # they are for the member
        signal.signal(ignored, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody asks how a daemon ended
    with selectors.DefaultSelector() as selector:
        selector.register(listener, selectors.EVENT_READ)
        selector.register(alive, selectors.EVENT_READ)
        while not any(key.fd == alive for key, _ in selector.select()):
            connection, _ = listener.accept()
            handed = receive(connection)
            if handed is None:
                continue
            if os.fork() == 0:
                listener.close()
                os.close(alive)
                _end(partial(_become, handed, daemon))
            handed.close()
    shutil.rmtree(folder, ignore_errors=True)


def _become(handed: Handover, daemon: Daemon) -> None:
    """Be the daemon: with the streams, the arguments and the environment of who handed them over."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    _call_it("spark-worker")
    handed.take_over()
    sys.argv[1:] = handed.arguments
    os.register_at_fork(after_in_child=handed.connection.close)  # it tells of the daemon's end, not of its workers'
    daemon()


def _call_it(name: str) -> None:
    """Give this process a name of its own, of at most 15 letters: its command line is still the member's."""
    with contextlib.suppress(OSError):
        Path("/proc/self/comm").write_text(name)


def _end(run: Callable[[], None]) -> None:
    """Run this in a forked process, which never returns into the member's code."""
    code = 1
    try:
        run()
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 1
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(code)
