"""Where Java and Spark keep what they need for a moment: in a directory of who started them, which is thrown away.

In the machine's own temporary directory it would stay whenever they are killed, and tests kill them all the time.
"""

import os
from collections.abc import Mapping
from pathlib import Path


def of_java(directory: Path) -> str:
    """Return the option of a JVM that has its temporary files in ``directory``, which is made."""
    directory.mkdir(parents=True, exist_ok=True)
    return f"-Djava.io.tmpdir={directory}"


def of_spark(directory: Path) -> Mapping[str, str]:
    """Return the environment of a process whose Spark has its files in ``directory``, which is made.

    Spark's launcher gives ``SPARK_SUBMIT_OPTS`` to the JVM, which says nothing about it; of ``JAVA_TOOL_OPTIONS`` it
    would, in logs that tests read.
    """
    return {"SPARK_SUBMIT_OPTS": f'"{of_java(directory)}"', "SPARK_LOCAL_DIRS": str(directory)}


def keep_logs_only(directory: Path) -> None:
    """Delete what servers that have ended have left in a directory, but for what they have logged."""
    for folder, _, files in os.walk(directory, topdown=False):
        place = Path(folder)
        is_data = "data" in place.relative_to(directory).parts
        for file in (place / one for one in files if is_data or not one.endswith(".log")):
            file.unlink(missing_ok=True)
        if not any(place.iterdir()):
            place.rmdir()
