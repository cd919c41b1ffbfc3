"""``make chaos``: kill, freeze and lie to real processes at random, then look whether every record is stored once."""

import argparse
import random
import shutil
import sys
import time

from tests.chaos.choices import FILES, LATE, TABLES, chosen
from tests.chaos.outputs import OUTPUTS
from tests.chaos.report import Verdict
from tests.chaos.run import run
from tests.chaos.settings import Settings, crews
from tests.stack.artifacts import CACHE, ROOT, MissingArtifactError
from tests.stack.processes import interrupted_by_sigterm

PLACE = CACHE / "chaos"


def main() -> int:
    """Return 0 if the promise was held, 1 if it is broken, 2 for trouble of the harness, 130 when interrupted."""
    arguments = _parse()
    seed = arguments.seed if arguments.seed is not None else random.SystemRandom().randrange(1 << 31)
    settings = Settings(
        seed,
        kills=arguments.kills,
        seconds=arguments.minutes * 60,
        crews=crews(*arguments.groups),
        choices=chosen(seed, table=arguments.table, late=arguments.late, files=arguments.files),
        brokers=arguments.brokers,
        oldest=arguments.oldest,
        spark=arguments.spark,
    )
    directory = PLACE / f"{time.strftime('%Y%m%d-%H%M%S')}-{seed}"
    try:
        with interrupted_by_sigterm():
            report = run(settings, directory, echo=_say)
    except MissingArtifactError as error:
        sys.stderr.write(f"{error}\n")
        return Verdict.TROUBLE
    except KeyboardInterrupt:
        sys.stderr.write(f"\nInterrupted; what there is stands in {directory}\n")
        return 130
    if report.verdict is Verdict.HELD and not arguments.keep:
        shutil.rmtree(directory)
    else:
        report.evidence = str(directory.relative_to(ROOT))
    _say(f"\n{report.text()}")
    return report.verdict


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--kills", type=int, default=20, help="at least so many of members (default %(default)s)")
    parser.add_argument(
        "--minutes", type=float, default=5.0, help="disturb at least so long, to the last kill (default %(default)s)"
    )
    parser.add_argument("--groups", nargs="+", choices=OUTPUTS, default=list(OUTPUTS), help="which ones (default all)")
    parser.add_argument("--table", choices=TABLES, help="which table group table has (default: the seed chooses)")
    parser.add_argument("--late", choices=LATE, help="where its late records go (default: the seed chooses)")
    parser.add_argument("--files", choices=FILES, help="format of group files; kafka: it is replayed and restored")
    parser.add_argument(
        "--spark", action="store_true", help="Spark compacts the table and reads it (`make soak` fetches it)"
    )
    brokers = parser.add_mutually_exclusive_group()
    brokers.add_argument("--brokers", type=int, choices=(1, 3), default=3, help="how many there are (default 3)")
    brokers.add_argument("--oldest", action="store_true", help="three brokers of the oldest release (`make soak`)")
    parser.add_argument(
        "--seed", type=int, help="deals the same disturbances again; when they strike is up to the machine"
    )
    parser.add_argument("--keep", action="store_true", help="keep logs and data also when all is well")
    return parser.parse_args()


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
