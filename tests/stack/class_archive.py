"""``python -m tests.stack.class_archive`` makes the archive of classes with which brokers start in half the CPU time.

Beside it comes what a broker is formatted with, so that this need not start a JVM.

The JVM checks at each start that the archive is of this very Java and of the same jars, and does without one that is
not.
"""

import shutil
import sys
import tempfile
from pathlib import Path

from tests.stack import artifacts
from tests.stack.kafka import KafkaBroker
from tests.stack.topics import create_topic, produce, read_all

_STOP_SECONDS = 600
"""Generous: an archive that is half written is of no use."""


def main() -> None:
    """Start a broker, use it a little, and let its JVM write down the classes that it has when it ends."""
    archive = artifacts.kafka_class_archive()
    bootstrap = artifacts.kafka_bootstrap()
    for one in (archive, bootstrap):
        one.unlink(missing_ok=True)
    made = archive.with_suffix(".new")
    made.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as directory:
        broker = KafkaBroker(Path(directory), jvm=[f"-XX:ArchiveClassesAtExit={made}"])
        with broker:
            create_topic(broker.bootstrap, "any")
            produce(broker.bootstrap, "any", [b"value"])
            read_all(broker.bootstrap, "any")
            broker.stop(_STOP_SECONDS)
        shutil.copy(Path(directory) / "data" / bootstrap.name, bootstrap)
    if not made.exists():
        sys.exit(f"{archive}: Java did not write it")
    made.replace(archive)


if __name__ == "__main__":
    main()
