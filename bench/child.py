"""Calls `bench.measure` in a process of its own."""

import json
import subprocess
import sys
from typing import Any

from bench.measure import Result
from bench.processes import Usage
from bench.servers import Payload, Servers, empty_bucket, manifest


def measure(running: Servers, name: str, payload: Payload, spec: dict[str, Any]) -> Result:
    """Measure a member of the group ``name`` on the filled topics of a payload; its objects are deleted afterwards."""
    topics = warm_up_topic(payload), payload.topic
    request = {
        "document": manifest(running, name, topics, **spec),
        "warm_up": topics[0],
        "measured": topics[1],
        "others": running.processes,
    }
    done = subprocess.run(
        [sys.executable, "-m", "bench.measure"],
        input=json.dumps(request),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    answer = json.loads(done.stdout.splitlines()[-1])
    empty_bucket(running, name)
    return Result(**{**answer, "usage": Usage(**answer["usage"])})


def warm_up_topic(payload: Payload) -> str:
    """Return the name of the topic that is worked off first."""
    return f"warm-up-{payload.topic}"
