"""Executors as processes of this machine in place of pods: Spark's ``local-cluster``, for measurements."""

import json
import secrets
import tempfile
from collections.abc import Mapping
from pathlib import Path
from unittest.mock import patch

from logpersister.manifest.blocks.spark import SparkSpec
from logpersister.pipeline import session
from logpersister.pipeline.kubernetes import EXECUTOR_CONTAINER, REQUIRED, executor_settings

_MEMORY = 1280
"""MiB of each, as pods have."""
_OF_PODS = ("spark.kubernetes.", "spark.submit.", "spark.decommission.")


def executors_here() -> None:
    """Let the next Spark of this process start executors of one core on this machine; all else is as with pods."""
    patch.object(session, "executor_settings", _settings).start()
    patch.object(session, "end_leftovers").start()


def _settings(spark: SparkSpec, _environment: Mapping[str, str], life: str) -> dict[str, str]:
    pod = executor_settings(spark, dict.fromkeys(REQUIRED, "127.0.0.1"), life)
    template = Path(tempfile.mkdtemp(prefix="logpersister-bench-")) / "template.json"
    limits = {"resources": {"limits": {"memory": f"{_MEMORY}Mi"}}}
    template.write_text(json.dumps({"spec": {"containers": [{"name": EXECUTOR_CONTAINER, **limits}]}}))
    return {name: value for name, value in pod.items() if not name.startswith(_OF_PODS)} | {
        "spark.master": f"local-cluster[{spark.executors},1,{_MEMORY}]",
        "spark.driver.port": "0",
        "spark.driver.blockManager.port": "0",
        "spark.authenticate.secret": secrets.token_hex(16),  # Spark makes one itself where executors are pods
        "spark.kubernetes.executor.podTemplateFile": str(template),
    }
