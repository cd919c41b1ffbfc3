"""Spark as a member starts it in its pod, while standard input is open; the argument is the folder of its account."""

import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from unittest.mock import patch

from logpersister.manifest.spark import SparkSpec
from logpersister.pipeline import session
from logpersister.pipeline.kubernetes import executor_settings
from logpersister.pipeline.leftovers import end_leftovers


def main(account: Path) -> None:
    def settings(spark: SparkSpec, environment: Mapping[str, str], life: str) -> dict[str, str]:
        return executor_settings(spark, environment, life) | {  # what Spark finds in a pod by itself
            "spark.kubernetes.authenticate.caCertFile": str(account / "ca.crt"),
            "spark.kubernetes.authenticate.oauthTokenFile": str(account / "token"),
        }

    spec = SparkSpec(executors=2, conf={"spark.scheduler.maxRegisteredResourcesWaitingTime": "1s"})
    with (
        patch.object(session, "executor_settings", settings),
        patch.object(session, "end_leftovers", partial(end_leftovers, account=account)),
    ):
        context = session.start_spark("test", spec)
    sys.stdin.read()
    context.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
