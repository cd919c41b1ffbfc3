"""Which metrics there are, and which of them expressions and panels ask for."""

import json
import re
from collections.abc import Iterator

from logpersister.feeds.reports import FeedMetrics, Parts
from logpersister.feeds.sender import SentCounts
from logpersister.report.facts import Identity
from logpersister.report.metrics import Metrics as MemberMetrics
from logpersister.report.status import StatusBoard
from logpersister_operator.metrics import Metrics as OperatorMetrics
from tests.chart.combinations import MONITORED
from tests.chart.helm import CHART, Document, render
from tests.unit.pages.operator_world import spool_of

MONITORING = (CHART.parents[1] / "docs" / "monitoring.md").read_text()


def metric_names() -> set[str]:
    """Return every series that members, collectors and the operator can have."""
    identity = Identity(group="g", generation=1, revision="r", member="m", version="v")
    member = MemberMetrics(StatusBoard(identity)).registry
    collector = FeedMetrics("c", "r", Parts((), spool_of(0), SentCounts())).registry
    documented = set(re.findall(r"^\| `(logpersister_\w+)` \|", MONITORING, re.MULTILINE))
    names: set[str] = set()
    for registry in (member, collector, OperatorMetrics().registry):
        for metric in registry.collect():
            suffixes = {"counter": ["_total"], "histogram": ["_bucket", "_count", "_sum"], "info": ["_info"]}
            names |= {metric.name + suffix for suffix in suffixes.get(metric.type, [""])}
    return names | documented


def used(expression: str) -> set[str]:
    return set(re.findall(r"\blogpersister_\w+", expression))


def installed_dashboard() -> Document:
    """Return the dashboard as the chart installs it."""
    config_map = render(MONITORED).one("ConfigMap", "logpersister-dashboard")
    assert config_map["metadata"]["labels"]["grafana_dashboard"] == "1"
    found: Document = json.loads(config_map["data"]["logpersister.json"])
    return found


def targets(dashboard: Document) -> Iterator[Document]:
    """Yield what each panel of a dashboard asks for."""
    for panel in dashboard["panels"]:
        yield from panel.get("targets", ())
