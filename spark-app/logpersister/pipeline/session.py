"""Spark for a member: settings (docs/design/spark.md says why), and what Spark's JVM prints."""

import json
import logging
import os
import re
import secrets
import subprocess
import sys
import threading
from importlib.resources import files
from pathlib import Path
from typing import IO, Any

import structlog
from pyspark import SparkConf, SparkContext
from pyspark.find_spark_home import _find_spark_home
from pyspark.java_gateway import launch_gateway

from logpersister.manifest.blocks.spark import SparkSpec
from logpersister.pipeline import daemon, forkserver
from logpersister.pipeline.kubernetes import executor_settings, template_settings
from logpersister.pipeline.leftovers import end_leftovers

log = structlog.get_logger(__name__)

_OF_NO_CONSEQUENCE = re.compile(r"Timed out waiting for \[\d+\] milliseconds for \[Pod\]")
"""Spark waits a second for the driver's own pod to be ready, for its name in DNS. Ours gets ready only when
it has Spark, and executors connect to its address."""

DRIVER_MEMORY = "512m"
"""Heap of the driver's JVM: no record passes through it, only lists of ranges and outcomes."""
JVM_OPTIONS = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
"""The JVM only schedules: the simplest collector and compiler halve the CPU time that it takes to start."""
CLASS_ARCHIVE = Path(_find_spark_home()) / "logpersister.jsa"
"""Classes as the JVM has them in memory, which saves a third of its start (pipeline/class_archive.py makes it).

The JVM does without one that is not of this very Java, or of other jars."""
KEPT_JOBS = 20
"""Finished jobs that Spark remembers for displays which nobody looks at; its default of 1,000 lets the heap grow."""


def fork_early(spec: SparkSpec) -> None:
    """Fork what Python workers will be forked from, to be called before the process has threads or connections.

    Executors have their workers in pods of their own.
    """
    if not spec.has_executors:
        forkserver.start(daemon.run)


def start_spark(name: str, spec: SparkSpec, cores: int | None = None) -> SparkContext:
    """Start Spark: inside this process unless executors are wanted, then against the Kubernetes that we run in.

    Args:
        name: of the application, for Spark's own displays.
        spec: ``spec.spark`` of the manifest.
        cores: how many tasks run at once in this process; all cores of the machine unless given.

    Raises:
        NotInPodError: executors are wanted, and this process is no pod.
        ExecutorTemplateError: executors cannot have the memory that they shall have.
    """
    os.environ["PYSPARK_PYTHON"] = sys.executable  # workers must have our packages
    settings = {
        "spark.app.name": name,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.scheduler.mode": "FAIR",  # a large job must not hold back a small one
        "spark.python.daemon.module": "logpersister.pipeline.daemon",
        "spark.python.worker.reuse": "true",  # connections to Kafka and S3 outlive a task
        "spark.driver.memory": DRIVER_MEMORY,
        "spark.ui.retainedJobs": str(KEPT_JOBS),
        "spark.ui.retainedStages": str(KEPT_JOBS),
        "spark.ui.retainedTasks": str(KEPT_JOBS * 10),
    }
    java_options = f"{JVM_OPTIONS} -Dlog4j2.configurationFile={files(__package__) / 'log4j2.properties'}"
    if spec.has_executors:
        settings |= executor_settings(spec, os.environ, secrets.token_hex(3))
        template = Path(settings["spark.kubernetes.executor.podTemplateFile"]).read_text()
        settings |= template_settings(json.loads(template))
        end_leftovers(os.environ)
    else:
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        settings |= {
            "spark.master": f"local[{cores or '*'}]",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
        }
    settings |= spec.conf
    archive = f"-XX:SharedArchiveFile={CLASS_ARCHIVE} " if CLASS_ARCHIVE.exists() else ""
    for process, first in (("driver", archive), ("executor", "")):  # the user's own options come last, so they win
        option = f"spark.{process}.extraJavaOptions"
        settings[option] = f"{first}{java_options} {settings.get(option, '')}".strip()
    spark_conf = SparkConf(loadDefaults=False).setAll(list(settings.items()))
    return SparkContext(conf=spark_conf, gateway=_launch(spark_conf))


def _launch(conf: SparkConf) -> object:
    """Start the JVM in a session of its own, so that Ctrl-C reaches the member only; it ends with the member.

    What it prints becomes log events: Spark tells its start-up to the terminal in a dozen lines that nobody needs.
    """
    printed, pipe = os.pipe()
    try:
        gateway: object = launch_gateway(  # type: ignore[no-untyped-call]
            conf, popen_kwargs={"stdout": pipe, "stderr": subprocess.STDOUT, "start_new_session": True}
        )
    finally:
        os.close(pipe)
    lines = os.fdopen(printed, encoding="utf-8", errors="replace")
    threading.Thread(target=relay_output, args=(lines,), name="spark-output", daemon=True).start()
    return gateway


def relay_output(lines: IO[str]) -> None:
    """Log what the JVM and its Python workers print, until they end."""
    for line in lines:
        text = line.rstrip()
        event = _worker_event(text)
        if event is not None:
            level = logging.getLevelNamesMapping().get(str(event.pop("level", "")).upper(), logging.WARNING)
            log.log(level, str(event.pop("event")), **event)
        elif " ERROR " in text and not _OF_NO_CONSEQUENCE.search(text):
            log.warning("spark.error", line=text)
        elif text:
            log.debug("spark.printed", line=text)


def _worker_event(text: str) -> dict[str, Any] | None:
    """Return the log event of a Python worker, which shares the JVM's output; None for anything else."""
    if not text.startswith("{"):
        return None
    try:
        event = json.loads(text)
    except ValueError:
        return None
    if not (isinstance(event, dict) and "event" in event):
        return None
    event.pop("timestamp", None)
    return event
