"""``make bench ARGS=start``: CPU seconds of a start, from the first line of Python to the end of Spark's first job."""

import argparse
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.box import MARKDOWN
from rich.console import Console
from rich.table import Table

from bench import machine
from bench.processes import cpu_seconds
from bench.spread import Spread

VARIANTS: Mapping[str, Mapping[str, bool]] = {
    "neither": {"fork_server": False, "archive": False},
    "class archive": {"fork_server": False, "archive": True},
    "fork server": {"fork_server": True, "archive": False},
    "both, as members do": {"fork_server": True, "archive": True},
}
KINDS = ("member", "jvm", "workers")


def measure(*, fork_server: bool, archive: bool) -> Mapping[str, float]:
    """Start Spark in this process, run its first job, and return the CPU seconds by kind of process."""
    import logpersister.cli.run  # noqa: PLC0415 - what a member has imported by then; this is what is measured
    import logpersister.member.assembly  # noqa: F401, PLC0415
    from logpersister.manifest.blocks.spark import SparkSpec  # noqa: PLC0415
    from logpersister.pipeline import session  # noqa: PLC0415
    from logpersister.pipeline.job import SparkJobs  # noqa: PLC0415

    spec = SparkSpec()
    if not archive:
        session.CLASS_ARCHIVE = Path("/nonexistent")
    if fork_server:
        session.fork_early(spec)
    jobs = SparkJobs(session.start_spark("start", spec), most_jobs=1)
    jobs.warm_up().result()
    spent = cpu_seconds()
    jobs.close()
    return spent


def table(results: Mapping[str, Sequence[Mapping[str, float]]]) -> Table:
    """Return the median (least-most) of each variant."""
    shown = Table(title="CPU seconds until Spark's first job is done; median (least-most)", box=MARKDOWN)
    for column in ("with", "all", *KINDS):
        shown.add_column(column, no_wrap=True)
    for name, rounds in results.items():
        by_kind = [Spread.of(one.get(kind, 0.0) for one in rounds).text(1) for kind in KINDS]
        shown.add_row(name, Spread.of(sum(one.values()) for one in rounds).text(1), *by_kind)
    return shown


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench start", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="measurements of each variant")
    options = parser.parse_args(arguments)
    print(machine.describe(), flush=True)
    results: dict[str, list[Mapping[str, float]]] = {name: [] for name in VARIANTS}
    for _ in range(options.rounds):
        for name, variant in VARIANTS.items():
            command = [sys.executable, "-m", "bench.start", json.dumps(variant)]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
            results[name].append(json.loads(done.stdout.splitlines()[-1]))
    Console(width=100).print(table(results))


if __name__ == "__main__":
    print(json.dumps(measure(**json.loads(sys.argv[1]))))
