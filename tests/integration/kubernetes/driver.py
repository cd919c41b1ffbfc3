"""Spark as a member starts and watches it in its pod, until it is lost; arguments: folder of its account, failures."""

import sys
from collections.abc import Mapping
from datetime import timedelta
from functools import partial
from pathlib import Path
from unittest.mock import patch

from logpersister.manifest.blocks.spark import SparkSpec
from logpersister.member.spark_watch import SparkWatch
from logpersister.pipeline import session
from logpersister.pipeline.job import SparkJobs
from logpersister.pipeline.kubernetes import executor_settings
from logpersister.pipeline.leftovers import end_leftovers
from logpersister.report.facts import Identity
from logpersister.report.health import Health
from logpersister.report.status import StatusBoard
from logpersister.stopping import Stop


def main(account: Path, failures: str) -> None:
    def settings(spark: SparkSpec, environment: Mapping[str, str], life: str) -> dict[str, str]:
        return executor_settings(spark, environment, life) | {  # what Spark finds in a pod by itself
            "spark.kubernetes.authenticate.caCertFile": str(account / "ca.crt"),
            "spark.kubernetes.authenticate.oauthTokenFile": str(account / "token"),
        }

    conf = {"spark.scheduler.maxRegisteredResourcesWaitingTime": "1s", "spark.executor.maxNumFailures": failures}
    spec = SparkSpec(executors=2, conf=conf)
    with (
        patch.object(session, "executor_settings", settings),
        patch.object(session, "end_leftovers", partial(end_leftovers, account=account)),
    ):
        context = session.start_spark("test", spec)
    health, stop = Health(), Stop()
    board = StatusBoard(Identity("backup", 1, "0a1b2c3d4e5f", "m", "1"))
    probe = health.probe("spark", timedelta(hours=1))
    with SparkWatch(SparkJobs(context, 1), probe, board, stop, ask_seconds=0.5) as watch:
        stop.wake.wait()
        sys.stdout.write(f"{health.live()}\n")
        watch.raise_if_lost()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
