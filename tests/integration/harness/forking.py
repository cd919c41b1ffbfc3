"""Begins operators or members without importing them anew: that takes seconds of CPU, and tests begin a hundred each.

A process that has imported the program plays it in a child for each line that it reads. It has one thread, and has
begun nothing of the program, so a child is what a new process is.
"""

import gc
import json
import os
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module


def serve(module: str, *imported: str) -> None:
    """Answer each request, a line of JSON, with a line."""
    for name in imported:
        import_module(name)
    main = import_module(module).main
    gc.freeze()  # children share what is never written
    for line in sys.stdin:
        request = json.loads(line)
        if "log" in request:
            pid = os.fork()
            if not pid:
                _become(request["log"], request["arguments"], request["environment"])
                sys.exit(main())
            answer: int | None = pid
        else:
            answer = _code(request["ended"])
        sys.stdout.write(f"{json.dumps(answer)}\n")
        sys.stdout.flush()


def _become(log: str, arguments: Sequence[str], environment: Mapping[str, str]) -> None:
    """Have the files, the group, the arguments and the environment of a process that was started by itself."""
    os.setsid()
    for name, flags, targets in ((os.devnull, os.O_RDONLY, (0,)), (log, os.O_WRONLY | os.O_APPEND, (1, 2))):
        opened = os.open(name, flags)
        for target in targets:
            os.dup2(opened, target)
        os.close(opened)
    sys.argv[1:] = arguments
    os.environ.clear()
    os.environ.update(environment)


def _code(pid: int) -> int | None:
    """Return the exit code of a child, as `subprocess` tells it; None while it runs."""
    ended, status = os.waitpid(pid, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if ended else None


if __name__ == "__main__":
    serve(*sys.argv[1:])
