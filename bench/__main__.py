"""``python -m bench [NAME] [options]``: throughput unless another one of `COMMANDS` is named."""

import sys

from bench import (
    backlog,
    executors,
    feeds,
    filters,
    folders,
    formats,
    latency,
    peers,
    rebalance,
    replay,
    resources,
    restore,
    service,
    start,
    tables,
    throughput,
    trickle,
    types,
)

COMMANDS = {
    "throughput": throughput,
    "latency": latency,
    "trickle": trickle,
    "backlog": backlog,
    "formats": formats,
    "executors": executors,
    "feeds": feeds,
    "filters": filters,
    "folders": folders,
    "peers": peers,
    "rebalance": rebalance,
    "replay": replay,
    "restore": restore,
    "start": start,
    "tables": tables,
    "types": types,
    "operator": resources,
    "service": service,
}


def main() -> None:
    """Run what is named on the command line; ``--help`` after a name tells its options."""
    arguments = sys.argv[1:]
    if arguments[:1] in (["-h"], ["--help"]):
        print(__doc__)
        for name, command in COMMANDS.items():
            print(f"\n{name}: {command.__doc__}")
        return
    named = arguments[:1] and arguments[0] in COMMANDS
    COMMANDS[arguments[0] if named else "throughput"].main(arguments[1:] if named else arguments)


if __name__ == "__main__":
    main()
