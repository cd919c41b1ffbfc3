"""``make chaos``: kill, freeze and lie to real processes at random, then look whether every record is stored once."""

import argparse
import json
import random
import shutil
import sys
import time
from pathlib import Path

from tests.chaos.choices import FILES, FORMATS, INCOMPATIBLE, LATE, PARSERS, TABLES, chosen
from tests.chaos.outputs import OUTPUTS, TEXT
from tests.chaos.report import Report, Verdict
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
        crews=_crews(arguments.groups, arguments.members),
        choices=chosen(
            seed,
            table=arguments.table,
            late=arguments.late,
            keeps=arguments.conditions,
            incompatible=arguments.incompatible,
            parser=arguments.parser,
            format=arguments.format,
            files=arguments.files,
        ),
        brokers=arguments.brokers,
        oldest=arguments.oldest,
        spark=arguments.spark,
        settle_seconds=arguments.settle * 60,
    )
    directory = PLACE / f"{time.strftime('%Y%m%d-%H%M%S')}-{seed}"
    echo = _say_aside if arguments.json else _say
    try:
        with interrupted_by_sigterm():
            report = run(settings, directory, echo=echo)
    except MissingArtifactError as error:
        _say_aside(str(error))
        return Verdict.TROUBLE
    except KeyboardInterrupt:
        _say_aside(f"\nInterrupted; what there is stands in {directory}")
        return 130
    if report.verdict is Verdict.HELD and not arguments.keep:
        shutil.rmtree(directory)
    else:
        report.evidence = str(directory.relative_to(ROOT))
    _write(report, as_json=arguments.json, file=arguments.report)
    return report.verdict


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--kills", type=_positive, default=20, help="at least so many of members (default %(default)s)")
    parser.add_argument(
        "--minutes", type=float, default=5.0, help="disturb at least so long, to the last kill (default %(default)s)"
    )
    parser.add_argument(
        "--groups", type=_groups, default=list(OUTPUTS), help=f"which ones (default {','.join(OUTPUTS)})", metavar="A,B"
    )
    parser.add_argument("--table", choices=TABLES, help="which tables group table has (default: the seed chooses)")
    parser.add_argument("--late", choices=LATE, help="where its late records go (default: the seed chooses)")
    parser.add_argument(
        "--conditions",
        action=argparse.BooleanOptionalAction,
        help="whether conditions leave records of rows and table out (default: the seed chooses)",
    )
    parser.add_argument(
        "--incompatible",
        choices=INCOMPATIBLE,
        help="what helps against a version of a schema that can read none before it (default: the seed chooses)",
    )
    parser.add_argument("--parser", choices=PARSERS, help="what readings are written by (default: the seed chooses)")
    parser.add_argument("--format", choices=FORMATS, help="of the files of readings (default: the seed chooses)")
    parser.add_argument("--files", choices=FILES, help="format of group files; kafka: it is replayed and restored")
    parser.add_argument(
        "--spark", action="store_true", help="Spark compacts the table and reads it (`make soak` fetches it)"
    )
    parser.add_argument("--members", type=int, choices=(2, 3), default=2, help="of group text (default 2)")
    brokers = parser.add_mutually_exclusive_group()
    brokers.add_argument("--brokers", type=int, choices=(1, 3), default=3, help="how many there are (default 3)")
    brokers.add_argument("--oldest", action="store_true", help="three brokers of the oldest release (`make soak`)")
    parser.add_argument(
        "--seed", type=int, help="deals the same disturbances again; when they strike is up to the machine"
    )
    parser.add_argument(
        "--settle",
        type=float,
        default=8.0,
        help="minutes to come to rest in the end (default 8; more if others compute)",
    )
    parser.add_argument("--report", type=Path, metavar="FILE", help="write the report there too")
    parser.add_argument("--json", action="store_true", help="the report as JSON; the story goes to standard error")
    parser.add_argument("--keep", action="store_true", help="keep logs and data also when all is well")
    return parser.parse_args()


def _crews(groups: list[str], members: int) -> dict[str, int]:
    found = crews(*groups)
    return found | {name: members for name in found if name == TEXT.name}


def _groups(text: str) -> list[str]:
    names = text.split(",")
    if unknown := sorted(set(names) - OUTPUTS.keys()):
        raise argparse.ArgumentTypeError(f"no group {', '.join(unknown)}; there are {', '.join(OUTPUTS)}")
    return names


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} kills; expected 1 or more")
    return number


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _say_aside(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def _write(report: Report, *, as_json: bool, file: Path | None) -> None:
    text = json.dumps(report.document(), indent=2) + "\n" if as_json else report.text()
    sys.stdout.write(text if as_json else f"\n{text}")
    sys.stdout.flush()
    if file is not None:
        file.write_text(text)


if __name__ == "__main__":
    sys.exit(main())
